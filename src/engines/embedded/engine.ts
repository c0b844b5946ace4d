import { fileURLToPath } from 'node:url';
import { withParentDeath } from '../../../native/parent-death.js';
import { LLAMA_SERVER_OPTIONS } from '../../catalog/llama-server-options.js';
import { childEnvironment } from '../child-environment.js';
import { guessContext } from '../driver-context.js';
import type { Command, Engine, Launch } from '../engine.js';
import { measureByRole } from '../measure-by-role.js';
import { createProtocolReader } from '../protocol.js';
import { classifyEmbeddedExit } from './classify.js';
import { confine, selectDevices } from './devices.js';
import { libraryVersion } from './model/library-version.js';
import { estimateEmbedded } from './estimate.js';

export interface EmbeddedEngineOptions {
  /** Why this engine, for logs and the screen. */
  readonly reason: string;
  /** The child's program; by default the one beside this module. */
  readonly childFile?: string;
  /** Node to run it with; by default the one that runs this. */
  readonly nodePath?: string;
  /** Default: this process's. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** A child downloads nothing, and what Node is told for this process (an inspector's port, say) is not meant for it. */
const NOT_FOR_CHILDREN: ReadonlySet<string> = new Set(['HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN', 'NODE_OPTIONS']);

/** Models as children of this program's own: Node processes around node-llama-cpp. */
export function createEmbeddedEngine(options: EmbeddedEngineOptions): Engine {
  const { reason, environment = process.env, nodePath = process.execPath } = options;
  const childFile = options.childFile ?? fileURLToPath(new URL('./child.js', import.meta.url));
  const command = (launch: Launch): Command =>
    withParentDeath(describeCommand(launch, nodePath, childFile, environment));
  const spoken = { reader: createProtocolReader, classify: classifyEmbeddedExit };
  return {
    name: 'embedded',
    reason,
    simulated: false,
    // All of them, so that a preset written for llama-server works; a child says which ones it ignores.
    options: LLAMA_SERVER_OPTIONS,
    build: libraryVersion(),
    capabilities: () => ({ measure: true, sleep: true, park: true }),
    command,
    ...spoken,
    contextGuess: guessContext,
    estimate: estimateEmbedded,
    measure: (launch) => measureByRole(command({ ...launch, role: 'measure' }), spoken),
  };
}

function describeCommand(
  { entry, port, devices, role }: Launch,
  nodePath: string,
  childFile: string,
  environment: Readonly<Record<string, string | undefined>>,
): Command {
  const named = entry.options.findLast(({ name }) => name === 'device')?.value;
  const selection = selectDevices(devices ?? (typeof named === 'string' ? named.split(',') : []));
  const hasModel = entry.options.some(({ name }) => name === 'model');
  const model = entry.files?.shards[0];
  const inherited = Object.entries(environment).filter(([name]) => !NOT_FOR_CHILDREN.has(name));
  return {
    file: nodePath,
    args: [
      childFile,
      ...(hasModel || model === undefined ? [] : ['--model', model]),
      ...entry.args,
      // The last one counts: nothing that an entry says can move a child elsewhere.
      ...['--alias', entry.id, '--host', '127.0.0.1', '--port', String(port)],
      ...['--device', selection.gpu === false ? 'none' : selection.devices.join(',')],
    ],
    env: {
      ...childEnvironment(Object.fromEntries(inherited), { port, childRole: role }),
      ...confine(selection, environment),
    },
  };
}
