import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { CatalogEntry } from '../../../src/catalog/entry.js';
import { writeSampleModels } from '../../../src/catalog/sample-models/sample-models.js';
import { createEmbeddedEngine } from '../../../src/engines/embedded/engine.js';
import type { Engine, ExitVerdict } from '../../../src/engines/engine.js';
import { freePort } from '../../../src/engines/free-port.js';
import { EXIT_MESSAGE, SLEEP_MESSAGE, type ChildMessage } from '../../../src/engines/messages.js';
import { bareEntry } from '../../support/bare-entry.js';
import { until } from '../../support/until.js';

const childFile = fileURLToPath(new URL('../../../dist/src/engines/embedded/child.js', import.meta.url));

export const engine: Engine = createEmbeddedEngine({ reason: 'the test wants it', childFile });

/** An entry as the catalog makes it of one file, with further options of the child. */
export function entryFor(path: string, options: Readonly<Record<string, string | true>> = {}): CatalogEntry {
  const given: Readonly<Record<string, string | true>> = { model: path, ...options };
  const all = Object.entries(given).map(([name, value]) => ({ name, value }));
  return bareEntry('test/model:small', {
    source: { kind: 'sample', path, line: null },
    options: all,
    args: all.flatMap(({ name, value }) => (value === true ? [`--${name}`] : [`--${name}`, value])),
    files: { shards: [path], projector: null, draft: null, sizeBytes: 12_000_000 },
    contextTokens: options['ctx-size'] === undefined ? null : Number(options['ctx-size']),
  });
}

/** One sequence, as `/slots` tells it. */
export interface SlotState {
  readonly is_processing: boolean;
  readonly n_decoded: number;
  readonly n_prompt_tokens_processed?: number;
}

/** An answer in OpenAI's shape, whole or an event of a stream. */
export interface Completion {
  readonly choices: readonly { readonly index: number; readonly text: string; readonly finish_reason: string | null }[];
  readonly usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

export interface RunningChild extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly messages: readonly ChildMessage[];
  readonly lines: readonly string[];
  /** Resolves with the first message of this kind that satisfies `wanted`. */
  until(wanted: (message: ChildMessage) => boolean): Promise<ChildMessage>;
  get<T>(path: string): Promise<T>;
  /** One of the figures of `/metrics`, without its prefix. */
  metric(name: string): Promise<number>;
  /** Waits until no sequence is at work. */
  untilIdle(): Promise<void>;
  post(path: string, body: object, signal?: AbortSignal): Promise<Response>;
  /** The same, and reads the answer, which has to be 200. */
  ask<T>(path: string, body: object): Promise<T>;
  closeStdin(): void;
  askToExit(): void;
  askToSleep(): void;
  terminate(): void;
  /** How it ended, once it has. */
  readonly ended: Promise<{ exitCode: number | null; signal: string | null; verdict: ExitVerdict }>;
}

/** The sample models, smallest first; in the directory that goes when the tests have ended. */
export function sampleModels(): Promise<readonly string[]> {
  return writeSampleModels(join(tmpdir(), 'llm-tui-sample-models'));
}

/** A child that serves the smallest sample model, ready. */
export async function startSmall(
  options: Readonly<Record<string, string | true>> = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningChild> {
  const [small = ''] = await sampleModels();
  const child = await startChild(entryFor(small, options), undefined, environment);
  await child.until(isReady);
  return child;
}

/** Starts a real child for the entry, as the supervisor does. */
export async function startChild(
  entry: CatalogEntry,
  chosenPort?: number,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningChild> {
  const port = chosenPort ?? (await freePort());
  const command = engine.command({ entry, port, devices: null, role: 'instance' });
  const child = spawn(command.file, command.args, { env: { ...command.env, ...environment }, stdio: 'pipe' });
  const lines: string[] = [];
  const messages: ChildMessage[] = [];
  const watchers = new Set<() => void>();
  const reader = engine.reader();
  for (const stream of ['stdout', 'stderr'] as const) {
    createInterface({ input: child[stream] }).on('line', (line) => {
      lines.push(line);
      const message = reader.read(line, stream);
      if (message) messages.push(message);
      for (const check of watchers) check();
    });
  }
  const ended = once(child, 'close').then(() => {
    const { exitCode, signalCode: signal } = child;
    return { exitCode, signal, verdict: engine.classify({ exitCode, signal, asked: false, lastLines: lines }) };
  });
  child.stdin.on('error', () => undefined);
  const url = `http://127.0.0.1:${port}`;
  const get = async <T>(path: string): Promise<T> => (await fetch(`${url}${path}`)).json() as Promise<T>;
  const post: RunningChild['post'] = (path, body, signal) => {
    return fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body), signal: signal ?? null });
  };
  return {
    url,
    port,
    pid: child.pid ?? 0,
    messages,
    lines,
    ended,
    until(wanted) {
      return new Promise((resolve, reject) => {
        const check = (): void => {
          const found = messages.find(wanted);
          if (found === undefined) return;
          watchers.delete(check);
          resolve(found);
        };
        watchers.add(check);
        check();
        void ended.then(() => reject(new Error(`the child ended first:\n${lines.join('\n')}`)));
      });
    },
    get,
    async metric(name) {
      const text = await (await fetch(`${url}/metrics`)).text();
      return Number(new RegExp(`^llamacpp:${name} (.*)$`, 'mu').exec(text)?.[1] ?? NaN);
    },
    async untilIdle() {
      await until('no sequence is at work', async () => {
        return (await get<readonly SlotState[]>('/slots')).every((slot) => !slot.is_processing);
      });
    },
    post,
    async ask<T>(path: string, body: object) {
      const response = await post(path, body);
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      return (await response.json()) as T;
    },
    closeStdin: () => child.stdin.end(),
    askToExit: () => void child.stdin.write(EXIT_MESSAGE),
    askToSleep: () => void child.stdin.write(SLEEP_MESSAGE),
    terminate: () => void child.kill('SIGTERM'),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

export const isReady = (message: ChildMessage): boolean => message.type === 'ready';

/** The events of a stream, without the final `[DONE]`, which has to be there. */
export async function readEvents<T>(response: Response): Promise<readonly T[]> {
  const events = (await response.text()).split('\n\n').filter((event) => event !== '');
  if (events.pop() !== 'data: [DONE]') throw new Error('the stream did not end with [DONE]');
  return events.map((event) => JSON.parse(event.replace(/^data: /u, '')) as T);
}

/** What the system counts for a process now (Linux). */
export function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/mu.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}
