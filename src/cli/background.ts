import { spawn } from 'node:child_process';
import { openSync, closeSync } from 'node:fs';
import { connectSupervisor } from '../client/supervisor-client.js';
import { preparePaths, type Paths } from '../supervisor/paths.js';
import type { StartMessage } from './serve-command.js';
import { CommandFailed, UsageError } from './usage-error.js';

/** True when a supervisor answers on the socket. */
export async function isRunning(paths: Paths): Promise<boolean> {
  const client = connectSupervisor({ socketPath: paths.socket });
  try {
    return await new Promise<boolean>((resolve) => {
      const stop = client.subscribe((message) => {
        stop();
        resolve(message.type === 'snapshot');
      });
    });
  } finally {
    client.close();
  }
}

/**
 * Starts `serve` in a process session of its own, so that the end of the terminal is not its end, and waits until it
 * serves. Throws UsageError or CommandFailed with the sentence that it failed with.
 */
export async function startInBackground(args: readonly string[], paths: Paths): Promise<void> {
  await preparePaths(paths).catch((cause: unknown) => {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  });
  const log = openSync(paths.serveLog, 'a', 0o600);
  const { argv, keys } = argsForServe(args);
  const env = keys.length === 0 ? process.env : { ...process.env, LLAMA_API_KEY: keys.join(',') };
  const child = spawn(process.execPath, [process.argv[1] ?? '', 'serve', ...argv, '--owned'], {
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
  throw message.exitCode === 2 ? new UsageError(message.message) : new CommandFailed(message.message);
}

/** Flags of the screen alone, which serve does not know, with whether they take a value. */
const SCREEN_FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['--glyphs', true],
  ['--read-only', false],
]);

/**
 * What serve is started with: the arguments less those of the screen. Keys go on in the environment: anybody can read
 * the arguments of a process.
 */
export function argsForServe(args: readonly string[]): {
  readonly argv: readonly string[];
  readonly keys: readonly string[];
} {
  const argv: string[] = [];
  const keys: string[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const [flag = '', ...inline] = (args[i] ?? '').split('=');
    const takesValue = flag === '--api-key' || SCREEN_FLAGS.get(flag) === true;
    if (flag !== '--api-key' && !SCREEN_FLAGS.has(flag)) {
      argv.push(args[i] ?? '');
      continue;
    }
    const value = takesValue && inline.length === 0 ? args[(i += 1)] : inline.join('=');
    if (flag === '--api-key' && value !== undefined) keys.push(value);
  }
  return { argv, keys };
}
