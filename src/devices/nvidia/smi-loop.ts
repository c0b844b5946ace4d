import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { withParentDeath } from '../../../native/parent-death.js';
import type { Millis } from '../../scheduler/units.js';

type Rows = readonly (readonly string[])[];

export interface SmiLoopOptions {
  readonly file: string;
  /** How long the first rows may take, since a driver may have to be woken for them; default 8 s. */
  readonly startLimitMillis?: Millis;
  /** How long no other is started after the first failure; doubles up to a minute. Default 1 s. */
  readonly pauseMillis?: Millis;
}

interface Running {
  readonly process: ChildProcess;
  readonly periodMillis: Millis;
  readonly fields: string;
  readonly startedAt: Millis;
  /** Rows of the look that is being printed. */
  open: (readonly string[])[];
  openedAt: Millis;
  looks: number;
  readonly waiting: Set<{ readonly since: Millis; readonly resolve: (rows: Rows) => void }>;
}

/** How many GPUs there are, so that a whole look can be told, and when it was taken. */
const OWN_FIELDS = 'count,timestamp';
const HUNG = 'nvidia-smi hung while it went on looking; it is started anew for each look meanwhile';
const ENDED = 'nvidia-smi ended while it went on looking; it is started anew for each look meanwhile';
const LONGEST_PAUSE_MILLIS: Millis = 60_000;
/** Looks that may be missed before it counts as hung; and no less than this on a machine that is busy. */
const MISSED_LOOKS = 4;
const LEAST_PATIENCE_MILLIS: Millis = 1500;
/** After so many looks it is well, and what failed before is forgotten. */
const WELL_AFTER_LOOKS = 20;

/**
 * An nvidia-smi that goes on printing the rows of its GPUs (`--loop-ms`): what costs most, starting it and the driver's
 * library, is done once. Where it ends or hangs it is started again after a pause that grows; meanwhile there is none,
 * and who wants to know has to ask otherwise. It says nothing of processes: the rows of those have no end.
 */
export class SmiLoop {
  readonly #options: Required<SmiLoopOptions>;
  #running: Running | null = null;
  #failures = 0;
  #pausedUntil: Millis = -Infinity;
  #trouble: string | null = null;

  constructor(options: SmiLoopOptions) {
    this.#options = { startLimitMillis: 8000, pauseMillis: 1000, ...options };
  }

  /** The pid of the program, or null while there is none. */
  get pid(): number | null {
    return this.#running?.process.pid ?? null;
  }

  /** What became of it, until one looks again; null: all is well. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /**
   * The first rows that were read at `sinceMillis` (Unix time) or later, one for each GPU, with these fields; null while
   * there are none to be had in this way, as while it starts.
   */
  async rowsSince(sinceMillis: Millis, fields: string, periodMillis: Millis): Promise<Rows | null> {
    if (this.#running?.periodMillis !== periodMillis || this.#running.fields !== fields) this.close();
    if (this.#running === null) {
      if (performance.now() >= this.#pausedUntil) this.#running = this.#start(fields, periodMillis);
      return null;
    }
    const running = this.#running;
    if (running.looks === 0) {
      if (performance.now() - running.startedAt > this.#options.startLimitMillis) this.#fail(running, HUNG);
      return null;
    }
    const { promise, resolve } = Promise.withResolvers<Rows | null>();
    const waiter = { since: sinceMillis, resolve };
    running.waiting.add(waiter);
    const patience = Math.max(LEAST_PATIENCE_MILLIS, periodMillis * MISSED_LOOKS);
    const timer = setTimeout(() => {
      this.#fail(running, HUNG);
      resolve(null);
    }, patience);
    const ended = (): void => resolve(null);
    running.process.once('close', ended);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      running.process.off('close', ended);
      running.waiting.delete(waiter);
    }
  }

  /** Ends it; the next question starts another. */
  close(): void {
    const running = this.#running;
    this.#running = null;
    running?.process.kill('SIGKILL');
  }

  #start(fields: string, periodMillis: Millis): Running {
    const query = [`--query-gpu=${OWN_FIELDS},${fields}`, '--format=csv,noheader,nounits', `--loop-ms=${periodMillis}`];
    const { file, args } = withParentDeath({ file: this.#options.file, args: query });
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, LC_ALL: 'C' } });
    child.unref();
    const running: Running = {
      ...{ process: child, periodMillis, fields, startedAt: performance.now() },
      ...{ open: [], openedAt: Infinity, looks: 0, waiting: new Set() },
    };
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (this.#running === running) this.#read(running, line);
    });
    child.once('error', () => this.#fail(running, ENDED));
    child.once('close', () => this.#fail(running, ENDED));
    return running;
  }

  #read(running: Running, line: string): void {
    const [count = '', timestamp = '', ...row] = line.split(',').map((field) => field.trim());
    const readAt = parseTimestamp(timestamp);
    // Not a row: the driver's words, which are said in full to whoever asks it afresh.
    if (!/^[1-9]\d*$/u.test(count) || readAt === null || row.length !== running.fields.split(',').length) {
      this.#fail(running, ENDED);
      return;
    }
    running.open.push(row);
    running.openedAt = Math.min(running.openedAt, readAt);
    if (running.open.length < Number(count)) return;
    const { open: rows, openedAt } = running;
    running.open = [];
    running.openedAt = Infinity;
    running.looks += 1;
    this.#trouble = null;
    if (running.looks === WELL_AFTER_LOOKS) this.#failures = 0;
    for (const { since, resolve } of running.waiting) if (openedAt >= since) resolve(rows);
  }

  #fail(running: Running, trouble: string): void {
    if (this.#running !== running) return;
    this.close();
    this.#trouble = trouble;
    const { pauseMillis } = this.#options;
    this.#pausedUntil = performance.now() + Math.min(LONGEST_PAUSE_MILLIS, pauseMillis * 2 ** this.#failures);
    this.#failures += 1;
  }
}

/** As nvidia-smi writes the local time, `2026/11/30 16:43:45.390`, in Unix time; null for anything else. */
function parseTimestamp(text: string): Millis | null {
  const match = /^(\d{4})\/(\d\d)\/(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{3})$/u.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0, millis = 0] = match.slice(1).map(Number);
  return new Date(year, month - 1, day, hours, minutes, seconds, millis).getTime();
}
