import type { Millis } from '../../scheduler/units.js';

/** Asked more often than this, somebody watches closely; more seldom, nobody looks and nothing runs. */
const CLOSE_BELOW_MILLIS: Millis = 500;
const IDLE_ABOVE_MILLIS: Millis = 3000;
/** How often the program looks in each case. */
const CLOSE_PERIOD_MILLIS: Millis = 150;
const REST_PERIOD_MILLIS: Millis = 500;
/** One question that comes sooner, or later, than usual is no other pace. */
const STEADY_QUESTIONS = 3;

/** How often a program that goes on looking should look, told by how often it is asked; null: it is not worth running. */
export class SmiPace {
  readonly #now: () => Millis;
  #askedAt: Millis | null = null;
  #period: Millis | null = null;
  #other: Millis | null = null;
  #others = 0;

  constructor(now: () => Millis = () => performance.now()) {
    this.#now = now;
  }

  /** Called with each question. */
  asked(): Millis | null {
    const now = this.#now();
    const interval = this.#askedAt === null ? Infinity : now - this.#askedAt;
    this.#askedAt = now;
    const wanted = periodFor(interval);
    if (wanted === this.#period) {
      this.#others = 0;
      return this.#period;
    }
    this.#others = wanted === this.#other ? this.#others + 1 : 1;
    this.#other = wanted;
    if (this.#others >= STEADY_QUESTIONS) this.#period = wanted;
    return this.#period;
  }
}

function periodFor(interval: Millis): Millis | null {
  if (interval > IDLE_ABOVE_MILLIS) return null;
  return interval < CLOSE_BELOW_MILLIS ? CLOSE_PERIOD_MILLIS : REST_PERIOD_MILLIS;
}
