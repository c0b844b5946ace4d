import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Millis } from '../scheduler/units.js';

export interface AskedChildOptions {
  /** What it is called in errors, e.g. `NVML`. */
  readonly title: string;
  readonly file: string;
  readonly args: readonly string[];
  /** How long an answer may take; then the child is killed. */
  readonly limitMillis: Millis;
  /** The same for the first answer of a child, which has to start and wake the driver. */
  readonly startLimitMillis: Millis;
  /** How long no other is started after the first failure; doubles up to `longestPauseMillis`. */
  readonly pauseMillis: Millis;
  readonly longestPauseMillis: Millis;
}

const DEFAULTS = { limitMillis: 1500, startLimitMillis: 8000, pauseMillis: 500, longestPauseMillis: 5000 };

/** How much of what a dying child said is kept. */
const LAST_WORDS_CHARACTERS = 300;

interface Running {
  readonly process: ChildProcess;
  answered: boolean;
  /** True once it was told to end, or killed: nobody asks it any more. */
  leaving: boolean;
  lastWords: string;
  readonly waiting: PromiseWithResolvers<string>[];
}

/**
 * A child process that answers one line to each line, and that may hang or die at any time: it is killed when an answer
 * takes too long, and started again after a pause. Only one is ever there: while one cannot even be killed, as happens
 * with a lost GPU, there is no second. It counts as nobody's child: no other part of the program knows it.
 */
export class AskedChild {
  readonly #options: AskedChildOptions;
  #running: Running | null = null;
  #failures = 0;
  #pausedUntil: Millis = -Infinity;
  #lastError = '';
  #crashes = 0;

  constructor(options: Pick<AskedChildOptions, 'title' | 'file' | 'args'> & Partial<AskedChildOptions>) {
    this.#options = { ...DEFAULTS, ...options };
  }

  /** The pid of the child, or null while there is none. */
  get pid(): number | null {
    return this.#running?.process.pid ?? null;
  }

  /** How often in a row it ended by itself without an answer. */
  get crashes(): number {
    return this.#crashes;
  }

  /**
   * Asks, starting the child where there is none. Rejects within the limit; between a failure and the next start at
   * once, with the words of the failure.
   */
  async ask(): Promise<string> {
    const { title, limitMillis, startLimitMillis } = this.#options;
    if (performance.now() < this.#pausedUntil) throw new Error(this.#lastError);
    if (this.#running?.leaving) throw new Error(`${this.#lastError} What hangs there cannot be ended.`);
    this.#running ??= this.#start();
    const running = this.#running;
    const answer = Promise.withResolvers<string>();
    running.waiting.push(answer);
    running.process.stdin?.write('\n');
    const limit = running.answered ? limitMillis : startLimitMillis;
    const timer = setTimeout(() => {
      // The same words each time: a driver that hangs is one piece of news.
      this.#fail(`${title} does not answer; the driver hangs, or is very slow.`);
      this.#kill(running);
      this.#rejectAll(running);
    }, limit);
    try {
      return await answer.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** An answer that is a failure: the child is expected to end, and the next one waits for its turn. */
  failed(message: string): void {
    this.#fail(message);
    if (this.#running === null) return;
    this.#running.leaving = true;
    this.#running.process.stdin?.end();
  }

  /** An answer that is one: what failed before is forgotten. */
  succeeded(): void {
    this.#failures = 0;
  }

  close(): void {
    if (this.#running !== null) this.#kill(this.#running);
  }

  #kill(running: Running): void {
    running.leaving = true;
    running.process.kill('SIGKILL');
  }

  #start(): Running {
    const { file, args, title } = this.#options;
    const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'], env: environment() });
    const running: Running = { process: child, answered: false, leaving: false, lastWords: '', waiting: [] };
    child.unref();
    child.stdin.on('error', () => undefined);
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      running.lastWords = `${running.lastWords}${text}`.slice(-LAST_WORDS_CHARACTERS);
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      running.answered = true;
      this.#crashes = 0;
      running.waiting.shift()?.resolve(line);
    });
    let ended = false;
    const end = (how: string): void => {
      if (ended) return;
      ended = true;
      if (this.#running === running) this.#running = null;
      if (running.leaving && running.waiting.length === 0) return;
      if (!running.leaving) this.#crashes += 1;
      const words = running.lastWords.trim().replaceAll(/\s+/g, ' ');
      this.#fail(`${title}: its reader ${how}${words === '' ? '' : `; it said last: ${words}`}.`);
      this.#rejectAll(running);
    };
    child.once('error', (error) => end(`could not be started (${error.message})`));
    // Once its output is read to the end: an answer may have come just before.
    child.once('close', (code, signal) =>
      end(signal === null ? `ended with code ${code ?? '?'}` : `was ended by ${signal}`),
    );
    return running;
  }

  #fail(message: string): void {
    const { pauseMillis, longestPauseMillis } = this.#options;
    this.#lastError = message;
    this.#pausedUntil = performance.now() + Math.min(longestPauseMillis, pauseMillis * 2 ** this.#failures);
    this.#failures += 1;
  }

  #rejectAll(running: Running): void {
    for (const { reject } of running.waiting.splice(0)) reject(new Error(this.#lastError));
  }
}

/** What a driver's library may read, but nothing that would make Node do more than it is asked. */
function environment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, ...rest } = process.env;
  return { ...rest, LC_ALL: 'C' };
}
