import type { JournalWriter } from '../journal/record.js';
import type { Decision } from '../scheduler/decisions.js';
import type { Effect } from '../scheduler/effects.js';
import type { Event, EventBody } from '../scheduler/events.js';
import type { State } from '../scheduler/state.js';
import { step } from '../scheduler/step.js';

/** What one turn came to. */
export interface Turned {
  readonly event: Event;
  readonly before: State;
  readonly state: State;
  readonly decisions: readonly Decision[];
}

export interface LoopOptions {
  readonly initial: State;
  /** Milliseconds since the epoch: the only clock that the scheduler's events are stamped with. */
  readonly now: () => number;
  /** Where everything that comes in is recorded, before anything that is decided on it is done; null: nowhere. */
  readonly journal: Pick<JournalWriter, 'took' | 'decided'> | null;
  /** Does what a turn wants done. Must not wait; results come back through `dispatch`. */
  readonly runEffect: (effect: Effect) => void;
  readonly onTurn: (turned: Turned) => void;
}

/**
 * The inbox of the scheduler. Events are taken one at a time, each turn's effects run before the next event, and an
 * event that is dispatched by an effect waits for its turn.
 */
export class SchedulerLoop {
  readonly #options: LoopOptions;
  readonly #inbox: EventBody[] = [];
  #state: State;
  #turning = false;
  /** Since when there has been something to do without an end; null: there is nothing to do. */
  #busySince: number | null = null;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#state = options.initial;
  }

  get state(): State {
    return this.#state;
  }

  /** How long ago it began on what it has not come to the end of, in milliseconds; 0 when there is nothing to do. */
  busyMillis(): number {
    return this.#busySince === null ? 0 : performance.now() - this.#busySince;
  }

  dispatch(body: EventBody): void {
    this.#inbox.push(body);
    if (this.#turning) return;
    this.#turning = true;
    this.#busySince ??= performance.now();
    try {
      for (let next = this.#inbox.shift(); next !== undefined; next = this.#inbox.shift()) this.#turn(next);
      this.#busySince = null;
    } finally {
      this.#turning = false;
    }
  }

  #turn(body: EventBody): void {
    const event: Event = { at: this.#options.now(), ...body };
    const { journal } = this.#options;
    journal?.took(event, this.#state);
    const before = this.#state;
    const { state, effects, decisions } = step(before, event);
    this.#state = state;
    journal?.decided(decisions);
    for (const effect of effects) this.#options.runEffect(effect);
    this.#options.onTurn({ event, before, state, decisions });
  }
}
