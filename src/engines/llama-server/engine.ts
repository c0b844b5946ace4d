import { withParentDeath } from '../../../native/parent-death.js';
import { LLAMA_SERVER_OPTIONS } from '../../catalog/llama-server-options.js';
import { renderArgs } from '../../catalog/build-entry.js';
import { findOption } from '../../catalog/option-table.js';
import type { DeviceName } from '../../scheduler/units.js';
import { childEnvironment } from '../child-environment.js';
import { classifyExit } from '../classify-exit.js';
import { guessContext } from '../driver-context.js';
import type { Command, Engine, Launch, Measurement } from '../engine.js';
import { measureByRole } from '../measure-by-role.js';
import { createProtocolReader } from '../protocol.js';
import { deviceOptions } from './device-options.js';
import { estimatePlacements } from './estimate.js';
import type { FoundBinary } from './find-binary.js';
import { measureByFitTool } from './fit-tool.js';
import { unwrapLogLine } from './memory-lines.js';
import { readDeviceNames } from './read-devices.js';
import { createLlamaServerReader } from './reader.js';
import { verbosityOptions } from './verbosity.js';
import { fitsItself, visibleDevices, type VisibleDevices } from './visible-devices.js';

/** What was found, and where its children run. What a binary did not say is as in llama-server of 2026. */
export interface LlamaServerEngineOptions extends FoundBinary {
  /** Default: this process's. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Models as children of a stock llama-server, which see in us the router that they know. */
export function createLlamaServerEngine(options: LlamaServerEngineOptions): Engine {
  const { binary, reason, environment = process.env, measureRole = false, announcesReady = true, fitTool } = options;
  const table = options.options ?? LLAMA_SERVER_OPTIONS;
  let devices: readonly DeviceName[] | null = options.devices ?? null;
  let blind: string | undefined = options.blind;
  const visibleTo = (launch: Omit<Launch, 'role'>): VisibleDevices | null =>
    visibleDevices(launch, devices, environment);
  const command = (launch: Launch): Command => {
    const { entry, port, role } = launch;
    const visible = visibleTo(launch);
    const placed = visible === null ? launch : { ...launch, devices: visible.devices };
    return withParentDeath({
      file: binary,
      args: [
        ...entry.args,
        ...['--host', '127.0.0.1', '--port', String(port), '--alias', entry.id],
        ...renderArgs(deviceOptions(placed, table)),
        ...renderArgs(role === 'measure' ? [] : verbosityOptions(launch, options, environment)),
        ...(role === 'measure' ? ['--offline'] : []),
      ],
      env: { ...childEnvironment(environment, { port, childRole: role }), ...entry.secrets, ...visible?.environment },
      ...(visible === null ? {} : { deviceNames: visible.names }),
    });
  };
  const measure = (launch: Omit<Launch, 'role'>): Measurement => {
    if (measureRole || fitTool === undefined) {
      return measureByRole(command({ ...launch, role: 'measure' }), {
        reader: createProtocolReader,
        classify: classifyExit,
      });
    }
    const offline = findOption(fitTool.options, 'offline') === null ? [] : ['--offline'];
    // Its abort on a file that it cannot read must not start a debugger for a backtrace.
    const visible = visibleTo(launch);
    const placed = visible === null ? launch : { ...launch, devices: visible.devices };
    const env = {
      ...childEnvironment(environment, { port: launch.port, childRole: 'measure' }),
      ...launch.entry.secrets,
      ...visible?.environment,
      GGML_NO_BACKTRACE: '1',
    };
    const deviceNames = visible === null ? {} : { deviceNames: visible.names };
    return measureByFitTool(fitTool, launch.entry, deviceOptions(placed, table), (args) =>
      withParentDeath({ file: fitTool.file, args: [...args, ...offline], env, ...deviceNames }),
    );
  };
  return {
    name: 'llama-server',
    reason: `${reason}: ${binary}`,
    simulated: false,
    options: table,
    build: options.build ?? '',
    get devices() {
      return devices;
    },
    reportDevices: async () => (await readDeviceNames(binary))?.reports ?? [],
    async lookAgain() {
      if (blind === undefined) return;
      const listed = await readDeviceNames(binary);
      if (listed !== null) ({ names: devices, failure: blind } = listed);
    },
    capabilities: () => ({ measure: measureRole || fitTool !== undefined, sleep: true, announcesReady }),
    command,
    reader: createLlamaServerReader,
    classify: (evidence) => classifyExit({ ...evidence, lastLines: evidence.lastLines.map(unwrapLogLine) }),
    looksAtEveryDevice: fitsItself,
    contextGuess: guessContext,
    estimate: (entry, there) => {
      // What a driver that is not up hides from it, it may use once that is up.
      const isHidden = blind !== undefined && there.some(({ totalBytes }) => totalBytes === 0);
      return estimatePlacements(entry, there, isHidden ? null : devices);
    },
    measure,
  };
}
