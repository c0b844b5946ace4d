import type { ChildMessage } from '../engines/messages.js';
import type { Millis } from '../scheduler/units.js';

/** Progress is for eyes: the latest of it is enough, ten times a second. */
const PROGRESS_MILLIS: Millis = 100;
/** So many changes of state within a second are taken as they come; of more, the latest. */
const BURST = 10;
const BURST_MILLIS: Millis = 1000;

/**
 * How fast a child's messages become events. Each event is a turn of the scheduler and a line of its journal, so a
 * child that talks without end must not set the pace. What it says last is never lost.
 */
export class MessagePace {
  readonly #deliver: (message: ChildMessage) => void;
  readonly #timers = new Map<'progress' | 'state', NodeJS.Timeout>();
  readonly #held = new Map<'progress' | 'state', ChildMessage>();
  #said = 0;
  #burstBegan: Millis = -Infinity;
  #closed = false;

  constructor(deliver: (message: ChildMessage) => void) {
    this.#deliver = deliver;
  }

  take(message: ChildMessage): void {
    if (this.#closed) return;
    if (message.type === 'loading') {
      this.#takeProgress(message);
      return;
    }
    // What is still to be said of a load is old now.
    this.#held.delete('progress');
    const now = performance.now();
    if (now - this.#burstBegan >= BURST_MILLIS) {
      this.#burstBegan = now;
      this.#said = 0;
    }
    this.#said += 1;
    if (this.#said <= BURST && !this.#timers.has('state')) this.#deliver(message);
    else this.#hold('state', message, this.#burstBegan + BURST_MILLIS - now);
  }

  /** The child has ended: nothing more of it is news. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#held.clear();
  }

  #takeProgress(message: ChildMessage): void {
    if (this.#timers.has('progress')) {
      this.#held.set('progress', message);
      return;
    }
    this.#deliver(message);
    this.#hold('progress', null, PROGRESS_MILLIS);
  }

  #hold(lane: 'progress' | 'state', message: ChildMessage | null, millis: Millis): void {
    if (message !== null) this.#held.set(lane, message);
    if (this.#timers.has(lane)) return;
    const release = (): void => {
      this.#timers.delete(lane);
      const held = this.#held.get(lane);
      this.#held.delete(lane);
      if (held !== undefined) this.take(held);
    };
    this.#timers.set(lane, setTimeout(release, millis));
  }
}
