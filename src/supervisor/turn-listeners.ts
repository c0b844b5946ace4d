import type { Millis } from '../scheduler/units.js';
import { Listeners } from './listeners.js';
import type { Turned } from './loop.js';

/** Those who are told of every turn. */
export class TurnListeners extends Listeners<Turned> {
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
