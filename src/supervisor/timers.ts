import type { TimerName } from '../scheduler/events.js';
import type { Millis } from '../scheduler/units.js';

/** setTimeout fires at once for anything longer. */
const LONGEST_TIMEOUT_MILLIS = 2 ** 31 - 1;

/** Wakes the scheduler at the times it asked for. Timers are never cancelled: a late one finds nothing to do. */
export class Timers {
  readonly #now: () => Millis;
  readonly #fire: (timer: TimerName) => void;
  readonly #armed = new Set<NodeJS.Timeout>();

  constructor(now: () => Millis, fire: (timer: TimerName) => void) {
    this.#now = now;
    this.#fire = fire;
  }

  arm(at: Millis, timer: TimerName): void {
    const delay = Math.min(Math.max(0, at - this.#now()), LONGEST_TIMEOUT_MILLIS);
    const handle = setTimeout(() => {
      this.#armed.delete(handle);
      this.#fire(timer);
    }, delay);
    this.#armed.add(handle);
  }

  close(): void {
    for (const handle of this.#armed) clearTimeout(handle);
    this.#armed.clear();
  }
}
