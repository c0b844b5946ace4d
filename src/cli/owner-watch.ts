import type { Millis } from '../scheduler/units.js';

/** A screen that started us has this long to appear, */
const FIRST_SCREEN_MILLIS: Millis = 30_000;
/** and this long to come back after its connection broke. */
const RETURN_MILLIS: Millis = 1000;

export interface OwnerWatchOptions {
  /** Started in the background by a screen. */
  readonly owned: boolean;
  readonly onClose: 'stop' | 'detach';
  readonly stop: () => void;
}

/** Stops everything when the screen that started this supervisor vanishes without having said that it detaches. */
export class OwnerWatch {
  readonly #options: OwnerWatchOptions;
  #screens = 0;
  #detached = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: OwnerWatchOptions) {
    this.#options = options;
  }

  /** From now on a screen is expected. */
  start(): void {
    if (this.#screens === 0) this.#stopUnlessConnected(FIRST_SCREEN_MILLIS);
  }

  /** An owning screen is there; the returned function says that it has gone. */
  connected(): () => void {
    this.#screens += 1;
    this.#detached = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    return () => {
      this.#screens -= 1;
      if (this.#screens === 0) this.#stopUnlessConnected(RETURN_MILLIS);
    };
  }

  /** The screen leaves on purpose: everything stays as it is. */
  detach(): void {
    this.#detached = true;
  }

  #stopUnlessConnected(millis: Millis): void {
    const { owned, onClose, stop } = this.#options;
    if (!owned || onClose === 'detach' || this.#detached || this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#screens === 0 && !this.#detached) stop();
    }, millis);
    this.#timer.unref();
  }
}
