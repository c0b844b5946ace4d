import { returnFreedMemory } from '../../native/malloc-trim.js';
import type { Millis } from '../scheduler/units.js';

/** Long enough after an ending that what it has freed is freed, and that a busy swap is followed by one round only. */
const REST_MILLIS: Millis = 5000;

/** Keeps this process as small as what it holds: a while after work that leaves memory behind, that goes back. */
export class FreedMemory {
  #timer: NodeJS.Timeout | null = null;

  /** Something has ended that took memory: an instance, the reading of a catalog. */
  leftBehind(): void {
    if (this.#timer !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      returnFreedMemory();
    }, REST_MILLIS);
    this.#timer.unref();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
