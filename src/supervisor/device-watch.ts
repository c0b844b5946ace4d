import type { ProbeSample, ProcessTree } from '../devices/probe.js';
import type { EventBody, ProbeFailure } from '../scheduler/events.js';
import type { Millis } from '../scheduler/units.js';

/** How often the devices are sampled: while anything is under way, at rest, and while nothing runs and nobody looks. */
const CLOSE_MILLIS: Millis = 150;
const REST_MILLIS: Millis = 1000;
const IDLE_MILLIS: Millis = 5000;

export interface DeviceWatchOptions {
  /** Never rejects. */
  readonly sample: (
    trees: readonly ProcessTree[],
  ) => Promise<{ readonly sample: ProbeSample; readonly failures: readonly ProbeFailure[] }>;
  readonly trees: () => readonly ProcessTree[];
  readonly now: () => Millis;
  readonly dispatch: (event: EventBody) => void;
  /** True while somebody follows the figures. */
  readonly isFollowed: () => boolean;
  /** What cannot be read, whenever that or what is said of it changes; empty when all is well. */
  readonly onFailures: (failures: readonly ProbeFailure[]) => void;
}

/** Samples the devices in turn, one sample at a time. */
export class DeviceWatch {
  readonly #options: DeviceWatchOptions;
  #closely = false;
  #isLooking = false;
  /** A look that is under way may have begun before what is asked for. */
  #lookAgain = false;
  #closed = false;
  #timer: NodeJS.Timeout | null = null;
  #failures = '[]';

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

  /**
   * Takes the next sample at once: memory may just have come back, and somebody waits for it; or somebody has begun to
   * follow, and what they see first may be old.
   */
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
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#sampleOnce().then(() => this.#schedule());
    }, this.#interval());
  }

  #interval(): Millis {
    if (this.#lookAgain) return 0;
    if (this.#closely) return CLOSE_MILLIS;
    const { isFollowed, trees } = this.#options;
    return isFollowed() || trees().length > 0 ? REST_MILLIS : IDLE_MILLIS;
  }

  async #sampleOnce(): Promise<void> {
    const { sample, trees, now, dispatch, onFailures } = this.#options;
    const takenAt = now();
    this.#isLooking = true;
    this.#lookAgain = false;
    const { sample: taken, failures } = await sample(trees());
    this.#isLooking = false;
    if (this.#closed) return;
    const joined = JSON.stringify(failures);
    if (joined !== this.#failures) onFailures(failures);
    this.#failures = joined;
    dispatch({
      type: 'sample',
      takenAt,
      devices: taken.devices,
      instances: taken.instances,
      ...(failures.length === 0 ? {} : { failures }),
    });
  }
}
