import { connectSupervisor } from '../client/supervisor-client.js';
import type { Snapshot, SupervisorClient } from '../client/types.js';
import { pathsFor } from '../supervisor/paths.js';
import { isRunning } from './background.js';
import { CommandFailed } from './usage-error.js';

/** How a command finds the supervisor that it talks to. */
export interface ClientFlags {
  readonly url: string | null;
  readonly stateDir: string | null;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** The supervisor at the URL; else the one of the state directory; else the one at the default address. */
export async function clientFor({ url, stateDir }: ClientFlags): Promise<SupervisorClient> {
  const { socket } = pathsFor(stateDir);
  const apiKey = process.env['LLAMA_API_KEY'];
  const at = (address: string): SupervisorClient =>
    connectSupervisor(apiKey ? { url: address, apiKey } : { url: address });
  if (url !== null) return at(url);
  if (await isRunning(pathsFor(stateDir))) return connectSupervisor({ socketPath: socket });
  if (stateDir !== null)
    throw new CommandFailed(`No supervisor is running for ${stateDir}; start one with llm-tui serve.`);
  return at(DEFAULT_URL);
}

/** The supervisor's state now. Throws CommandFailed with one sentence when there is none. */
export async function snapshotOf(client: SupervisorClient): Promise<Snapshot> {
  return new Promise((resolve, reject) => {
    const stop = client.subscribe((message) => {
      stop();
      if (message.type === 'snapshot') resolve(message.snapshot);
      else
        reject(
          new CommandFailed(message.type === 'disconnected' ? message.reason : 'The supervisor said nothing useful.'),
        );
    });
  });
}
