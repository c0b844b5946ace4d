import { withParentDeath } from '../../../native/parent-death.js';
import { LLAMA_SERVER_OPTIONS } from '../../catalog/llama-server-options.js';
import type { OptionTable } from '../../catalog/option-table.js';
import type { DeviceName } from '../../scheduler/units.js';
import { childEnvironment } from '../child-environment.js';
import { classifyExit } from '../classify-exit.js';
import type { Engine, Launch } from '../engine.js';
import { parseProtocolLine } from '../protocol.js';
import { estimatePlacements } from './estimate.js';

export interface LlamaServerEngineOptions {
  /** Absolute path of the program. */
  readonly binary: string;
  /** Why this one, for logs and the screen. */
  readonly reason: string;
  /** What the binary understands; by default what llama-server of 2026 does. */
  readonly options?: OptionTable;
  /** The devices that the binary can use, as it names them; by default whatever a probe finds. */
  readonly devices?: readonly DeviceName[];
  /** Default: this process's. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Models as children of a stock llama-server, which see in us the router that they know. */
export function createLlamaServerEngine(options: LlamaServerEngineOptions): Engine {
  const { binary, reason, environment = process.env } = options;
  return {
    name: 'llama-server',
    reason: `${reason}: ${binary}`,
    simulated: false,
    options: options.options ?? LLAMA_SERVER_OPTIONS,
    // Its measure role is not spoken yet; see the messages that parse() understands.
    capabilities: () => ({ measure: false, sleep: true }),
    command(launch) {
      const { entry, port, role } = launch;
      return withParentDeath({
        file: binary,
        args: [
          ...entry.args,
          ...['--host', '127.0.0.1', '--port', String(port), '--alias', entry.id],
          ...deviceArguments(launch),
          ...(role === 'measure' ? ['--offline'] : []),
        ],
        env: childEnvironment(environment, { port, childRole: role }),
      });
    },
    parse: parseProtocolLine,
    classify: classifyExit,
    estimate: (entry, devices) => estimatePlacements(entry, devices, options.devices ?? null),
  };
}

/**
 * A child takes a context on every device that it can see, unless it is told which to use; so a model that was
 * placed is told. An entry that names its devices itself keeps its word.
 */
function deviceArguments({ entry, devices }: Launch): readonly string[] {
  if (devices === null || entry.options.some(({ name }) => name === 'device')) return [];
  const accelerators = devices.filter((name: DeviceName) => name !== 'Host');
  return ['--device', accelerators.length === 0 ? 'none' : accelerators.join(',')];
}
