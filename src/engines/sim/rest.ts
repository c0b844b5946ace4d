import type { Millis } from '../../scheduler/units.js';

export interface SimRestOptions {
  /** After so long without work it goes to sleep; null: never. */
  readonly idleMillis: Millis | null;
  readonly fallAsleep: () => void;
  readonly wakeUp: () => Promise<void>;
}

/** The sleep of a simulated child: it begins after a while without work, and the next work ends it. */
export class SimRest {
  readonly #options: SimRestOptions;
  #working = 0;
  #sleepsAfterWork = false;
  #timer: NodeJS.Timeout | undefined;
  #isAsleep = false;
  #waking: Promise<void> | null = null;

  constructor(options: SimRestOptions) {
    this.#options = options;
  }

  /** It has nothing to do from now on, until it has. */
  begin(): void {
    const { idleMillis } = this.#options;
    clearTimeout(this.#timer);
    if (idleMillis === null || this.#working > 0) return;
    this.#timer = setTimeout(() => this.sleepNow(), idleMillis);
  }

  /** Falls asleep at once, or after the work that it is still at, unless new work comes meanwhile. */
  sleepNow(): void {
    clearTimeout(this.#timer);
    this.#sleepsAfterWork = this.#working > 0;
    if (this.#working > 0 || this.#isAsleep) return;
    this.#isAsleep = true;
    this.#options.fallAsleep();
  }

  async work<T>(use: () => Promise<T>): Promise<T> {
    clearTimeout(this.#timer);
    this.#working += 1;
    this.#sleepsAfterWork = false;
    try {
      if (this.#isAsleep) {
        this.#waking ??= this.#options.wakeUp();
        await this.#waking;
        this.#waking = null;
        this.#isAsleep = false;
      }
      return await use();
    } finally {
      this.#hasWorked();
    }
  }

  #hasWorked(): void {
    this.#working -= 1;
    if (this.#sleepsAfterWork) this.sleepNow();
    else this.begin();
  }
}
