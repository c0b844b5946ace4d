import type { Millis } from '../scheduler/units.js';
import type { Turned } from './loop.js';

/** Those who are told of every turn. */
export class TurnListeners {
  readonly #listeners = new Set<(turned: Turned) => void>();

  /** Returns the function that ends it. */
  add(listener: (turned: Turned) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(turned: Turned): void {
    for (const listener of [...this.#listeners]) listener(turned);
  }

  /** What the condition gives after the first turn in which it is not null; null once `limitMillis` (null: never) is over. */
  when<T>(condition: () => T | null, limitMillis: Millis | null): Promise<T | null> {
    return new Promise((resolve) => {
      const timer = limitMillis === null ? null : setTimeout(() => settle(null), limitMillis);
      const settle = (value: T | null): void => {
        if (timer !== null) clearTimeout(timer);
        stop();
        resolve(value);
      };
      const stop = this.add(() => {
        const value = condition();
        if (value !== null) settle(value);
      });
    });
  }
}
