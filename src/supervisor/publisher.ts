import type { ClientMessage, Snapshot } from '../client/types.js';
import type { Decision } from '../scheduler/decisions.js';
import type { Millis } from '../scheduler/units.js';
import { deltaBetween } from './delta.js';

/** At most ten deltas a second; the latest wins. */
const DELTA_INTERVAL_MILLIS: Millis = 100;

export type Listener = (message: ClientMessage) => void;

/** Tells screens what changed. Decisions go at once, states in deltas; with nobody listening it does nothing. */
export class Publisher {
  readonly #snapshot: () => Snapshot;
  readonly #listeners = new Set<Listener>();
  #sent: Snapshot | null = null;
  #timer: NodeJS.Timeout | null = null;
  #lastSentAt = -Infinity;

  constructor(snapshot: () => Snapshot) {
    this.#snapshot = snapshot;
  }

  /** The listener's first message is a snapshot. Returns the function that ends it. */
  subscribe(listener: Listener): () => void {
    // Everybody who listens already is brought up to the same state, so that one delta serves all.
    this.flush();
    this.#sent = this.#snapshot();
    this.#listeners.add(listener);
    listener({ type: 'snapshot', snapshot: this.#sent });
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  /** True while somebody listens. */
  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  decided(decisions: readonly Decision[]): void {
    for (const decision of decisions) this.#tell({ type: 'decision', decision });
  }

  changed(): void {
    if (this.#listeners.size === 0 || this.#timer !== null) return;
    const wait = Math.max(0, this.#lastSentAt + DELTA_INTERVAL_MILLIS - performance.now());
    this.#timer = setTimeout(() => this.flush(), wait);
  }

  /** Tells what changed without waiting for the next delta's time. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#sent === null || this.#listeners.size === 0) return;
    const snapshot = this.#snapshot();
    const delta = deltaBetween(this.#sent, snapshot);
    if (delta === null) return;
    this.#sent = snapshot;
    this.#lastSentAt = performance.now();
    this.#tell({ type: 'delta', delta });
  }

  #tell(message: ClientMessage): void {
    for (const listener of [...this.#listeners]) listener(message);
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#sent = null;
  }
}
