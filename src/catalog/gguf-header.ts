import { Worker } from 'node:worker_threads';
import type { Millis } from '../scheduler/units.js';
import type { FileIdentity } from './entry.js';
import type { GgufFacts, HeaderReply, HeaderRequest } from './gguf-worker.js';

export type { FileIdentity } from './entry.js';

/** `reason` continues a sentence that begins with the file's name: `is empty`, `is not a GGUF file`. */
export type HeaderReading =
  { readonly ok: true; readonly facts: GgufFacts } | { readonly ok: false; readonly reason: string };

export interface HeaderReader {
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
const AHEAD = 32;
const MOST_CACHED = 20_000;
/** Threads that end without one answer before the reader itself is taken to be broken. */
const MOST_BARREN_THREADS = 3;

interface Task {
  readonly request: HeaderRequest;
  readonly settle: (reading: HeaderReading) => void;
}

/**
 * Reads GGUF headers in one worker thread, one file after the other, each within 5 s; a file on which the thread
 * hangs, or which kills it, gets that as its reason and the rest go on in a new thread. Readings are kept for as
 * long as path, size and time stay the same.
 */
export class GgufHeaderReader implements HeaderReader {
  readonly #cache = new Map<string, Promise<HeaderReading>>();
  readonly #waiting: Task[] = [];
  readonly #sent: Task[] = [];
  readonly #limitMillis: Millis;
  readonly #script: URL;
  #worker: Worker | null = null;
  #deadline: NodeJS.Timeout | null = null;
  #idle: NodeJS.Timeout | null = null;
  #nextId = 1;
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
    const reading = new Promise<HeaderReading>((resolve) => {
      this.#waiting.push({
        request: { id: this.#nextId++, path: file.path, sizeBytes: file.sizeBytes },
        settle: resolve,
      });
    });
    if (this.#cache.size >= MOST_CACHED) this.#cache.clear();
    this.#cache.set(key, reading);
    this.#pump();
    return reading;
  }

  #pump(): void {
    if (this.#sent.length === 0 && this.#waiting.length === 0) {
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
    while (this.#sent.length < AHEAD) {
      const task = this.#waiting.shift();
      if (task === undefined) return;
      this.#sent.push(task);
      worker.postMessage(task.request);
    }
  }

  #start(): Worker {
    const worker = new Worker(this.#script, {
      name: 'gguf-headers',
      resourceLimits: { maxOldGenerationSizeMb: 512 },
      execArgv: FROM_SOURCE ? ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'] : [],
    });
    worker.on('message', (reply: HeaderReply) => {
      this.#answer(worker, reply);
    });
    worker.on('error', (error) => {
      if (worker === this.#worker) this.#lose(`made its reader fail: ${error.message}`);
    });
    return worker;
  }

  #answer(worker: Worker, reply: HeaderReply): void {
    if (worker !== this.#worker) return;
    const index = this.#sent.findIndex((task) => task.request.id === reply.id);
    const [task] = index < 0 ? [] : this.#sent.splice(index, 1);
    task?.settle(reply.ok ? { ok: true, facts: reply.facts } : { ok: false, reason: reply.reason });
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
    this.#sent.shift()?.settle({ ok: false, reason });
    this.#waiting.unshift(...this.#sent.splice(0));
    this.#barren += 1;
    if (this.#barren >= MOST_BARREN_THREADS) {
      for (const task of this.#waiting.splice(0)) task.settle({ ok: false, reason });
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

/** The process's own reader, with the process's cache. */
export const ggufHeaders: HeaderReader = new GgufHeaderReader();
