import { spawn } from 'node:child_process';
import { openSync, closeSync } from 'node:fs';
import { connectSupervisor } from '../client/supervisor-client.js';
import type { Snapshot } from '../client/types.js';
import type { Millis } from '../scheduler/units.js';
import { preparePaths, type Paths } from '../supervisor/paths.js';
import type { StartMessage } from './serve-command.js';
import { argsForServe } from './args-for-serve.js';
import { firstSnapshot, NoAnswer } from './first-snapshot.js';
import { AlreadyRunning, CommandFailed, UsageError } from './usage-error.js';

/**
 * V8 keeps the room for young objects that it once needed. With a limit a busy supervisor has less resident afterwards;
 * at rest from the start there is hardly a difference. It can only be said when Node starts; a `serve` that the user
 * starts keeps Node's own limit.
 */
const NODE_ARGS = ['--max-semi-space-size=2'];

/** A supervisor that is there has this long to answer. */
const ANSWER_MILLIS: Millis = 5000;

/** The state of the supervisor that listens on the socket; null where there is none. Throws when one does not answer. */
export async function runningSupervisor(paths: Paths): Promise<Snapshot | null> {
  const client = connectSupervisor({ socketPath: paths.socket });
  try {
    return await firstSnapshot(client, ANSWER_MILLIS);
  } catch (error) {
    if (error instanceof NoAnswer) throw error;
    return null;
  } finally {
    client.close();
  }
}

/**
 * Starts `serve` in a process session of its own, so that the end of the terminal is not its end, and waits until it
 * serves. Throws UsageError, AlreadyRunning or CommandFailed with the sentence that it failed with.
 */
export async function startInBackground(args: readonly string[], paths: Paths): Promise<void> {
  await preparePaths(paths).catch((cause: unknown) => {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  });
  const log = openSync(paths.serveLog, 'a', 0o600);
  const { argv, secrets } = argsForServe(args);
  const env = { ...process.env, ...secrets };
  const child = spawn(process.execPath, [...NODE_ARGS, process.argv[1] ?? '', 'serve', ...argv, '--owned'], {
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
    env,
  });
  closeSync(log);
  const message = await new Promise<StartMessage>((resolve) => {
    child.once('message', (received) => resolve(received as StartMessage));
    child.once('error', (error) => resolve({ type: 'failed', message: error.message, exitCode: 1 }));
    child.once('exit', () => {
      resolve({ type: 'failed', message: `The supervisor ended while starting; see ${paths.serveLog}.`, exitCode: 1 });
    });
  });
  child.removeAllListeners();
  child.unref();
  if (message.type === 'ready') return;
  if (message.alreadyRunning === true) throw new AlreadyRunning(message.message);
  throw message.exitCode === 2 ? new UsageError(message.message) : new CommandFailed(message.message);
}
