import type { TimerName } from '../scheduler/events.js';
import { LONGEST_TIMER_MILLIS, type Millis } from '../scheduler/units.js';

/**
 * Wakes the scheduler at the times it asked for: late at most, never early. Timers are never cancelled: one that nobody
 * needs any more finds nothing to do.
 */
export class Timers {
  readonly #now: () => Millis;
  readonly #fire: (timer: TimerName) => void;
  readonly #armed = new Set<NodeJS.Timeout>();

  constructor(now: () => Millis, fire: (timer: TimerName) => void) {
    this.#now = now;
    this.#fire = fire;
  }

  arm(at: Millis, timer: TimerName): void {
    const delay = Math.min(Math.max(0, at - this.#now()), LONGEST_TIMER_MILLIS);
    const handle = setTimeout(() => {
      this.#armed.delete(handle);
      // Node's timers count in the event loop's own time, and may be a millisecond early by another clock. The scheduler
      // would find that it is not yet time, and never be woken again.
      if (this.#now() < at) this.arm(at, timer);
      else this.#fire(timer);
    }, delay);
    this.#armed.add(handle);
  }

  close(): void {
    for (const handle of this.#armed) clearTimeout(handle);
    this.#armed.clear();
  }
}
