import { withParentDeath } from '../../../native/parent-death.js';
import { LLAMA_SERVER_OPTIONS } from '../../catalog/llama-server-options.js';
import type { ChildOption } from '../../catalog/entry.js';
import { renderArgs } from '../../catalog/build-entry.js';
import { findOption } from '../../catalog/option-table.js';
import type { DeviceName } from '../../scheduler/units.js';
import { childEnvironment } from '../child-environment.js';
import { classifyExit } from '../classify-exit.js';
import type { Command, Engine, Launch, Measurement } from '../engine.js';
import { measureByRole } from '../measure-by-role.js';
import { createProtocolReader } from '../protocol.js';
import { estimatePlacements } from './estimate.js';
import type { FoundBinary } from './find-binary.js';
import { measureByFitTool } from './fit-tool.js';

/** What was found, and where its children run. What a binary did not say is as in llama-server of 2026. */
export interface LlamaServerEngineOptions extends FoundBinary {
  /** Default: this process's. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Models as children of a stock llama-server, which see in us the router that they know. */
export function createLlamaServerEngine(options: LlamaServerEngineOptions): Engine {
  const { binary, reason, environment = process.env, measureRole = false, fitTool } = options;
  const command = (launch: Launch): Command => {
    const { entry, port, role } = launch;
    return withParentDeath({
      file: binary,
      args: [
        ...entry.args,
        ...['--host', '127.0.0.1', '--port', String(port), '--alias', entry.id],
        ...renderArgs(deviceOptions(launch)),
        ...(role === 'measure' ? ['--offline'] : []),
      ],
      env: childEnvironment(environment, { port, childRole: role }),
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
    const env = {
      ...childEnvironment(environment, { port: launch.port, childRole: 'measure' }),
      GGML_NO_BACKTRACE: '1',
    };
    return measureByFitTool(fitTool, launch.entry, deviceOptions(launch), (args) =>
      withParentDeath({ file: fitTool.file, args: [...args, ...offline], env }),
    );
  };
  return {
    name: 'llama-server',
    reason: `${reason}: ${binary}`,
    simulated: false,
    options: options.options ?? LLAMA_SERVER_OPTIONS,
    build: options.build ?? '',
    capabilities: () => ({ measure: measureRole || fitTool !== undefined, sleep: true }),
    command,
    reader: createProtocolReader,
    classify: classifyExit,
    estimate: (entry, devices) => estimatePlacements(entry, devices, options.devices ?? null),
    measure,
  };
}

/**
 * A child takes a context on every device that it can see, unless it is told which to use; so a model that was
 * placed is told. An entry that names its devices itself keeps its word.
 */
function deviceOptions({ entry, devices }: Omit<Launch, 'role'>): readonly ChildOption[] {
  if (devices === null || entry.options.some(({ name }) => name === 'device')) return [];
  const accelerators = devices.filter((name: DeviceName) => name !== 'Host');
  return [{ name: 'device', value: accelerators.length === 0 ? 'none' : accelerators.join(',') }];
}
