import type { Bytes, Millis } from '../scheduler/units.js';
import type { SimDevice } from './config.js';

interface Holding {
  bytes: Bytes;
  /** What a probe sees of it by now. */
  shown: Bytes;
}

/** The memory of one device as it truly is, which is not what anybody is told at the same moment. */
export class Pool {
  readonly device: SimDevice;
  readonly #later: (millis: Millis, act: () => void) => void;
  readonly #holdings = new Map<number, Holding>();
  #foreign: Bytes;
  /** Of dead processes: still in use, and nobody's. */
  #ghosts: Bytes = 0;
  #used: Bytes;

  constructor(device: SimDevice, later: (millis: Millis, act: () => void) => void) {
    this.device = device;
    this.#later = later;
    this.#foreign = Math.min(device.foreignBytes, device.totalBytes);
    this.#used = this.#foreign;
  }

  get freeBytes(): Bytes {
    return this.device.totalBytes - this.#used;
  }

  /** Takes memory for a process; false when there is not so much left. */
  allocate(generation: number, bytes: Bytes): boolean {
    if (bytes > this.freeBytes) return false;
    if (bytes <= 0) return true;
    const holding = this.#holdings.get(generation) ?? { bytes: 0, shown: 0 };
    this.#holdings.set(generation, holding);
    holding.bytes += bytes;
    this.#used += bytes;
    if (this.device.showsAfterMillis === 0) holding.shown = holding.bytes;
    else
      this.#later(this.device.showsAfterMillis, () => (holding.shown = Math.min(holding.bytes, holding.shown + bytes)));
    return true;
  }

  /** A living process gives back all but so much. */
  shrinkTo(generation: number, bytes: Bytes): void {
    const holding = this.#holdings.get(generation);
    if (holding === undefined || holding.bytes <= bytes) return;
    this.#used -= holding.bytes - bytes;
    holding.bytes = bytes;
    holding.shown = Math.min(holding.shown, bytes);
  }

  heldBy(generation: number): Bytes {
    return this.#holdings.get(generation)?.bytes ?? 0;
  }

  /** The process is dead. First it is still seen to hold its memory, then nobody is, then the memory is back. */
  abandon(generation: number): void {
    const holding = this.#holdings.get(generation);
    if (holding === undefined) return;
    const { bytes } = holding;
    holding.shown = bytes;
    const { releasesAfterMillis } = this.device;
    const vanish = (): void => {
      this.#holdings.delete(generation);
      this.#ghosts += bytes;
    };
    const comeBack = (): void => {
      this.#ghosts -= bytes;
      this.#used -= bytes;
    };
    if (releasesAfterMillis === 0) {
      vanish();
      comeBack();
    } else {
      this.#later(releasesAfterMillis / 2, vanish);
      this.#later(releasesAfterMillis, comeBack);
    }
  }

  /** Other programs take more, as far as there is any, or give back what they have. */
  changeForeign(bytes: number): void {
    const change = Math.max(-this.#foreign, Math.min(bytes, this.freeBytes));
    this.#foreign += change;
    this.#used += change;
  }

  /** In use, as a probe sees it. */
  shownUsed(): Bytes {
    let shown = this.#foreign + this.#ghosts;
    for (const holding of this.#holdings.values()) shown += holding.shown;
    return shown;
  }

  /** What a probe attributes to each process. */
  shownHoldings(): readonly (readonly [generation: number, bytes: Bytes])[] {
    return [...this.#holdings].map(([generation, { shown }]) => [generation, shown] as const);
  }
}
