import type { EventBody } from '../scheduler/events.js';
import type { Millis } from '../scheduler/units.js';
import { healthOf } from './ask-health.js';

const PAUSE_MILLIS: Millis = 500;
const ANSWER_MILLIS: Millis = 5000;
/** One good answer may be another program's, which had the port for a moment. */
const GOOD_ANSWERS = 2;

export interface HealthWatchOptions {
  /** Where a generation listens, or null when it has gone. */
  readonly portOf: (generation: number) => number | null;
  readonly dispatch: (event: EventBody) => void;
}

/**
 * Asks children that never say that they are ready: one is, once it has answered `/health` well. Builds of llama-server
 * older than its router. A child that turns out to speak is left alone.
 */
export class HealthWatch {
  readonly #options: HealthWatchOptions;
  readonly #asked = new Set<number>();

  constructor(options: HealthWatchOptions) {
    this.#options = options;
  }

  /** What children do, as it is told to the scheduler. */
  saw(event: EventBody): void {
    switch (event.type) {
      case 'spawned':
        this.#asked.add(event.generation);
        void this.#ask(event.model, event.generation);
        return;
      case 'progress':
      case 'ready':
      case 'exited':
        this.#asked.delete(event.generation);
        return;
      default:
        return;
    }
  }

  async #ask(model: string, generation: number): Promise<void> {
    for (let good = 0; good < GOOD_ANSWERS;) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLIS).unref());
      const port = this.#options.portOf(generation);
      if (port === null || !this.#asked.has(generation)) return;
      good = (await healthOf(port, ANSWER_MILLIS)) === 200 ? good + 1 : 0;
    }
    if (this.#options.portOf(generation) === null || !this.#asked.delete(generation)) return;
    this.#options.dispatch({ type: 'ready', model, generation, contextTokens: null, effective: null });
  }
}
