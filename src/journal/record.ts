import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import type { Decision } from '../scheduler/decisions.js';
import type { Event } from '../scheduler/events.js';
import type { State } from '../scheduler/state.js';
import type { Bytes, Millis } from '../scheduler/units.js';
import { nextJournalFile, pruneJournals } from './files.js';
import { hashOfDecisions, hashOfState, JOURNAL_SCHEMA, type DecidedLine, type EndLine } from './format.js';
import type { JournalHeader, StateLine } from './format.js';
import { encodeSample, type SampleEvent } from './sample-delta.js';

export interface JournalOptions {
  readonly directory: string;
  /** All files together, as long as the state, with which each file begins, is small against it. */
  readonly capBytes: Bytes;
  readonly version: string;
  /** See `schedulerBuild`. */
  readonly scheduler: string;
  readonly startedAt: Millis;
}

/** How much of the cap one file may take: a full file and two older ones stay below it, each a line too long. */
const FILE_SHARE = 0.3;

/** What decided nothing is written together: no longer after it came than this, and no more of it than this. */
const HELD_MILLIS: Millis = 50;
const HELD_CHARACTERS = 64 * 1024;

interface OpenFile {
  readonly path: string;
  readonly descriptor: number;
  /** Header and state. */
  readonly preambleBytes: Bytes;
  /** Everything after them. */
  eventBytes: Bytes;
  /** Lines that are still to be written. */
  held: string;
  lastSample: SampleEvent | null;
}

/**
 * Records what the scheduler is told, as it is told. Whatever a decision was made on has been handed to the kernel
 * before anything comes of it, with all that came before; so a killed supervisor leaves everything it decided. What
 * decided nothing, such as a request to a model that is ready, and its end, is held back for a moment and written
 * together: of that, and of nothing else, a kill loses the last 50 ms, and an exit of any other kind none. Throws never:
 * when a file cannot be written, that is said once, and nothing is recorded from then on.
 */
export class JournalWriter {
  readonly #options: JournalOptions;
  readonly #onFailure: (notice: string) => void;
  #file: OpenFile | null = null;
  #parts = 0;
  #ended = false;
  #timer: NodeJS.Timeout | null = null;
  readonly #atExit = (): void => this.flush();

  constructor(options: JournalOptions, onFailure: (notice: string) => void) {
    this.#options = options;
    this.#onFailure = onFailure;
    process.on('exit', this.#atExit);
  }

  /** Records an event before it is looked at. `before` is the state that it meets: a new file starts with it. */
  took(event: Event, before: State): void {
    this.#attempt(() => {
      const file = this.#fileFor(before);
      const isSample = event.type === 'sample';
      append(file, isSample ? encodeSample(file.lastSample, event) : event);
      if (isSample) file.lastSample = event;
      if (file.held.length >= HELD_CHARACTERS) writeHeld(file);
      else this.#timer ??= setTimeout(() => this.flush(), HELD_MILLIS).unref();
    });
  }

  /** Records what was decided on the latest event, as a hash, before anything comes of it. */
  decided(decisions: readonly Decision[]): void {
    if (decisions.length === 0) return;
    this.#attempt(() => {
      if (this.#file === null) return;
      append(this.#file, { decided: hashOfDecisions(decisions) } satisfies DecidedLine);
      writeHeld(this.#file);
    });
  }

  /** Writes what is held back. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#attempt(() => {
      if (this.#file !== null) writeHeld(this.#file);
    });
  }

  /** The scheduler has come to its end in this state; nothing is recorded any more. */
  close(state: State): void {
    this.#attempt(() => this.#finish(state));
    this.#end();
  }

  /** The file in use, or a new one when there is none or it is full. */
  #fileFor(state: State): OpenFile {
    if (this.#file !== null && !this.#isFull(this.#file)) return this.#file;
    this.#finish(state);
    return this.#open(state);
  }

  /** Never before the events outweigh the state: a large state would otherwise be written again with each event. */
  #isFull({ preambleBytes, eventBytes, held }: OpenFile): boolean {
    return eventBytes + held.length >= Math.max(preambleBytes, this.#options.capBytes * FILE_SHARE - preambleBytes);
  }

  #open(state: State): OpenFile {
    const { directory, capBytes, version, scheduler, startedAt } = this.#options;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const path = nextJournalFile(directory);
    const descriptor = openSync(path, 'wx', 0o600);
    this.#parts += 1;
    const header: JournalHeader = { journal: JOURNAL_SCHEMA, version, scheduler, startedAt, part: this.#parts };
    const preamble = `${JSON.stringify(header)}\n${JSON.stringify({ state } satisfies StateLine)}\n`;
    const preambleBytes = Buffer.byteLength(preamble);
    const file: OpenFile = { path, descriptor, preambleBytes, eventBytes: 0, held: '', lastSample: null };
    this.#file = file;
    writeAll(descriptor, preamble);
    pruneJournals(directory, capBytes * (1 - FILE_SHARE));
    return file;
  }

  #finish(state: State): void {
    if (this.#file === null) return;
    const file = this.#file;
    this.#file = null;
    try {
      append(file, { end: hashOfState(state) } satisfies EndLine);
      writeHeld(file);
    } finally {
      closeSync(file.descriptor);
    }
  }

  #attempt(write: () => void): void {
    if (this.#ended) return;
    try {
      write();
    } catch (error) {
      this.#end();
      const where = this.#file?.path ?? this.#options.directory;
      const why = error instanceof Error ? error.message : String(error);
      this.#onFailure(`The journal in ${where} cannot be written (${why}); nothing is recorded from now on.`);
      this.#abandon();
    }
  }

  #end(): void {
    this.#ended = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    process.off('exit', this.#atExit);
  }

  #abandon(): void {
    if (this.#file === null) return;
    try {
      closeSync(this.#file.descriptor);
    } catch {
      // It has failed already, and that has been said.
    }
    this.#file = null;
  }
}

type Line = Event | ReturnType<typeof encodeSample> | DecidedLine | EndLine;

function append(file: OpenFile, line: Line): void {
  file.held += `${JSON.stringify(line)}\n`;
}

function writeHeld(file: OpenFile): void {
  if (file.held === '') return;
  const text = file.held;
  file.held = '';
  file.eventBytes += writeAll(file.descriptor, text);
}

/** Returns the bytes written. A full disk takes a part first, and throws on the rest. */
function writeAll(descriptor: number, text: string): Bytes {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done);
  return bytes.length;
}
