import type { EventBody } from '../scheduler/events.js';
import type { ProcessTree, ProbeSample } from '../devices/probe.js';
import type { Millis } from '../scheduler/units.js';

/** How often the devices are sampled at rest, and while anything loads, stops or gives memory back. */
const REST_MILLIS: Millis = 1000;
const CLOSE_MILLIS: Millis = 150;

export interface DeviceWatchOptions {
  readonly sample: (trees: readonly ProcessTree[]) => Promise<{ sample: ProbeSample; errors: readonly string[] }>;
  readonly trees: () => readonly ProcessTree[];
  readonly now: () => Millis;
  readonly dispatch: (event: EventBody) => void;
  /** The probes' own words, whenever they change; empty when all is well. */
  readonly onErrors: (errors: readonly string[]) => void;
}

/** Samples the devices in turn, one sample at a time: closely while something is under way, else once a second. */
export class DeviceWatch {
  readonly #options: DeviceWatchOptions;
  #closely = false;
  #isLooking = false;
  /** A look that is under way may have begun before what is asked for. */
  #lookAgain = false;
  #closed = false;
  #timer: NodeJS.Timeout | null = null;
  #errors = '';

  constructor(options: DeviceWatchOptions) {
    this.#options = options;
  }

  /** Takes the first sample, then goes on by itself. */
  async start(): Promise<void> {
    await this.#sampleOnce();
    this.#schedule();
  }

  watchClosely(closely: boolean): void {
    this.#closely = closely;
    if (closely && this.#timer !== null) this.#schedule();
  }

  /** Takes the next sample at once: memory may just have come back, and somebody waits for it. */
  lookNow(): void {
    this.#lookAgain = true;
    if (!this.#isLooking) this.#schedule();
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        void this.#sampleOnce().then(() => this.#schedule());
      },
      this.#lookAgain ? 0 : this.#closely ? CLOSE_MILLIS : REST_MILLIS,
    );
  }

  async #sampleOnce(): Promise<void> {
    const { sample, trees, now, dispatch } = this.#options;
    const takenAt = now();
    this.#isLooking = true;
    this.#lookAgain = false;
    try {
      const { sample: taken, errors } = await sample(trees());
      if (this.#closed) return;
      this.#report(errors);
      dispatch({ type: 'sample', takenAt, devices: taken.devices, instances: taken.instances });
    } catch (error) {
      this.#report([error instanceof Error ? error.message : String(error)]);
    } finally {
      this.#isLooking = false;
    }
  }

  #report(errors: readonly string[]): void {
    const joined = errors.join('\n');
    if (joined === this.#errors) return;
    this.#errors = joined;
    this.#options.onErrors(errors);
  }
}
