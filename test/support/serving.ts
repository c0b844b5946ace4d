import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Snapshot } from '../../src/client/types.js';
import { until } from './until.js';

/** The program as it is installed. */
export const LAUNCHER: string = resolve(import.meta.dirname, '../../bin/llm-tui.js');

/** The real program, serving in a process of its own, in directories of its own. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly process: ChildProcess;
  readonly directory: string;
  readonly stateDirectory: string;
  /** Everything it has printed so far. */
  output(): string;
  snapshot(): Promise<Snapshot>;
  post(path: string, body: unknown, signal?: AbortSignal): Promise<Response>;
  /** Waits until the snapshot satisfies the condition; what it returned. */
  until<T>(what: string, condition: (snapshot: Snapshot) => T): Promise<Exclude<T, false | null | undefined>>;
}

/** A directory that goes with the test. */
export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'llm-tui-test-'));
}

/** The environment of a program under test: directories of its own, nothing of the user's. */
export function testEnvironment(directory: string): NodeJS.ProcessEnv {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('LLAMA_')));
  const own = { XDG_RUNTIME_DIR: directory, XDG_STATE_HOME: directory, LLAMA_CACHE: join(directory, 'hf-cache') };
  return { ...inherited, ...own, NODE_ENV: 'production' };
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program to its end. */
export async function runProgram(
  args: readonly string[],
  directory: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    env: { ...testEnvironment(directory), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

/** Starts `llm-tui serve` on a free port and waits until it listens. */
export async function serve(...args: readonly string[]): Promise<Served> {
  return serveIn(temporaryDirectory(), args);
}

/** The same in a directory that may have been served from before. */
export async function serveIn(
  directory: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<Served> {
  const stateDirectory = join(directory, 'state');
  const all = ['serve', '--state-dir', stateDirectory, '--port', '0', ...args];
  const child = spawn(process.execPath, [LAUNCHER, ...all], {
    env: { ...testEnvironment(directory), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const listening = new Promise<string>((found, failed) => {
    const read = (text: string): void => {
      output += text;
      const url = /listens at (\S+);/u.exec(output)?.[1];
      if (url !== undefined) found(url);
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
    child.once('exit', () => failed(new Error(`serve ended while starting: ${output}`)));
  });
  const url = await listening;

  const snapshot = async (): Promise<Snapshot> => (await (await fetch(`${url}/supervisor/state`)).json()) as Snapshot;
  return {
    url,
    process: child,
    directory,
    stateDirectory,
    output: () => output,
    snapshot,
    post: (path, body, signal) => {
      const headers = { 'content-type': 'application/json' };
      return fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body), signal: signal ?? null });
    },
    until: (what, condition) => until(what, async () => condition(await snapshot())),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Pids of the children of a process, direct and indirect, that are alive (Linux). */
export function descendants(pid: number): readonly number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/u.test(name) ? readStat(Number(name)) : null;
    if (stat !== null && stat.state !== 'Z') parents.set(Number(name), stat.parent);
  }
  const below = (parent: number): number[] =>
    [...parents].filter(([, other]) => other === parent).flatMap(([child]) => [child, ...below(child)]);
  return below(pid);
}

function readStat(pid: number): { readonly state: string; readonly parent: number } | null {
  try {
    // The command's name may contain spaces and parentheses; what follows the last one is regular.
    const [state = '', parent = '0'] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /su, '')
      .split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return null;
  }
}
