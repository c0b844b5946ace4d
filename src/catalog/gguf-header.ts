import { Worker } from 'node:worker_threads';
import type { Millis } from '../scheduler/units.js';
import type { FileIdentity } from './entry.js';
import { describeSystemCode } from './catalog-source-error.js';
import type { FoundFile, GgufFacts, HeaderReply, HeaderRequest, HeaderWorkerData } from './gguf-worker.js';

export type { FileIdentity } from './entry.js';

/** `reason` continues a sentence that begins with the file's name: `is empty`, `is not a GGUF file`. */
export type HeaderReading =
  { readonly ok: true; readonly facts: GgufFacts } | { readonly ok: false; readonly reason: string };

/** What there is at a path, links followed; `reason` is a sentence of its own: `it does not exist`. */
export type FileFinding =
  { readonly ok: true; readonly file: FoundFile } | { readonly ok: false; readonly reason: string };

export interface HeaderReader {
  /** Never rejects. */
  find(path: string): Promise<FileFinding>;
  /** Never rejects. */
  read(file: FileIdentity): Promise<HeaderReading>;
}

/** Tests run the TypeScript sources themselves. */
const FROM_SOURCE = import.meta.url.endsWith('.ts');
const WORKER_SCRIPT = new URL(FROM_SOURCE ? './gguf-worker.ts' : './gguf-worker.js', import.meta.url);
const LONGEST_READ_MILLIS: Millis = 5_000;
/** A thread that has had nothing to do for this long is ended. */
const IDLE_MILLIS: Millis = 2_000;
/** Sent ahead, so that the thread does not wait for an answer to its answer. */
const AHEAD = 64;
/** Sent together: each message wakes a thread, which costs more than the work that it brings. */
const TOGETHER = 16;
const MOST_CACHED = 20_000;
/** Threads that end without one answer before the reader itself is taken to be broken. */
const MOST_BARREN_THREADS = 3;

interface Task {
  readonly request: HeaderRequest;
  readonly settle: (reply: HeaderReply) => void;
}

/**
 * Looks at files and reads GGUF headers in one worker thread, one file after the other, each within 5 s; a file on which the thread
 * hangs, or which kills it, gets that as its reason and the rest go on in a new thread. Readings are kept for as
 * long as path, size and time stay the same.
 */
export class GgufHeaderReader implements HeaderReader {
  readonly #cache = new Map<string, Promise<HeaderReading>>();
  readonly #waiting: Task[] = [];
  /** In the order in which they are answered. */
  readonly #sent = new Map<number, Task>();
  readonly #busyWith = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #limitMillis: Millis;
  readonly #script: URL;
  #worker: Worker | null = null;
  #deadline: NodeJS.Timeout | null = null;
  #idle: NodeJS.Timeout | null = null;
  #nextId = 1;
  #pumpsSoon = false;
  /** Threads in a row that ended without an answer. */
  #barren = 0;

  /** @param script what the thread runs; for tests */
  constructor(limitMillis: Millis = LONGEST_READ_MILLIS, script: URL = WORKER_SCRIPT) {
    this.#limitMillis = limitMillis;
    this.#script = script;
  }

  read(file: FileIdentity): Promise<HeaderReading> {
    if (file.sizeBytes === 0) return Promise.resolve({ ok: false, reason: 'is empty (0 bytes)' });
    const key = `${file.sizeBytes}:${file.modifiedAt}:${file.path}`;
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const reading = this.#ask(file.path, file.sizeBytes).then((reply): HeaderReading =>
      reply.ok && 'facts' in reply ? { ok: true, facts: reply.facts } : { ok: false, reason: reasonIn(reply) },
    );
    if (this.#cache.size >= MOST_CACHED) this.#cache.clear();
    this.#cache.set(key, reading);
    return reading;
  }

  async find(path: string): Promise<FileFinding> {
    const reply = await this.#ask(path, null);
    if (reply.ok && 'file' in reply) return { ok: true, file: reply.file };
    const said = !reply.ok && reply.code !== undefined ? describeSystemCode(reply.code) : null;
    return { ok: false, reason: said ?? `it ${reasonIn(reply)}` };
  }

  #ask(path: string, sizeBytes: number | null): Promise<HeaderReply> {
    return new Promise((settle) => {
      this.#waiting.push({ request: { id: this.#nextId++, path, sizeBytes }, settle });
      // Whoever asks for many files asks for them in one go.
      if (!this.#pumpsSoon) {
        this.#pumpsSoon = true;
        queueMicrotask(() => this.#pump());
      }
    });
  }

  #pump(): void {
    this.#pumpsSoon = false;
    if (this.#sent.size === 0 && this.#waiting.length === 0) {
      this.#rest();
      return;
    }
    const worker = (this.#worker ??= this.#start());
    worker.ref();
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    this.#deadline ??= setTimeout(
      () => this.#lose(`took longer than ${this.#limitMillis / 1000} s to read`),
      this.#limitMillis,
    );
    // Half of what is ahead is enough to go on with until more is sent.
    if (this.#sent.size > AHEAD - TOGETHER) return;
    const tasks = this.#waiting.splice(0, AHEAD - this.#sent.size);
    if (tasks.length === 0) return;
    for (const task of tasks) this.#sent.set(task.request.id, task);
    worker.postMessage(tasks.map(({ request }) => request));
  }

  #start(): Worker {
    const worker = new Worker(this.#script, {
      name: 'gguf-headers',
      workerData: { busyWith: this.#busyWith } satisfies HeaderWorkerData,
      resourceLimits: { maxOldGenerationSizeMb: 512 },
      execArgv: FROM_SOURCE ? ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'] : [],
    });
    worker.on('message', (replies: readonly HeaderReply[]) => {
      this.#answer(worker, replies);
    });
    worker.on('error', (error) => {
      if (worker === this.#worker) this.#lose(`made its reader fail: ${error.message}`);
    });
    return worker;
  }

  #answer(worker: Worker, replies: readonly HeaderReply[]): void {
    if (worker !== this.#worker) return;
    for (const reply of replies) {
      const task = this.#sent.get(reply.id);
      this.#sent.delete(reply.id);
      task?.settle(reply);
    }
    this.#barren = 0;
    this.#deadline?.refresh();
    this.#pump();
  }

  /** Gives up the file that the thread is busy with, and the thread. */
  #lose(reason: string): void {
    const worker = this.#worker;
    this.#worker = null;
    if (this.#deadline !== null) clearTimeout(this.#deadline);
    this.#deadline = null;
    void worker?.terminate();
    // What was done but not told yet is done again.
    const busyWith = this.#sent.get(Atomics.load(this.#busyWith, 0)) ?? this.#sent.values().next().value;
    if (busyWith !== undefined) {
      this.#sent.delete(busyWith.request.id);
      busyWith.settle({ id: busyWith.request.id, ok: false, reason });
    }
    this.#waiting.unshift(...this.#sent.values());
    this.#sent.clear();
    this.#barren += 1;
    if (this.#barren >= MOST_BARREN_THREADS) {
      for (const { request, settle } of this.#waiting.splice(0)) settle({ id: request.id, ok: false, reason });
      this.#barren = 0;
    }
    this.#pump();
  }

  #rest(): void {
    if (this.#deadline !== null) clearTimeout(this.#deadline);
    this.#deadline = null;
    this.#worker?.unref();
    this.#idle ??= setTimeout(() => {
      this.#idle = null;
      void this.#worker?.terminate();
      this.#worker = null;
    }, IDLE_MILLIS).unref();
  }
}

function reasonIn(reply: HeaderReply): string {
  return reply.ok ? 'cannot be read' : reply.reason;
}

/** The process's own reader, with the process's cache. */
export const ggufHeaders: HeaderReader = new GgufHeaderReader();
