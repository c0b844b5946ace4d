import type { Millis } from '../scheduler/units.js';

/** What comes within this time after one that counted does not count. */
const ONE_PRESS_MILLIS: Millis = 500;

/**
 * A listener for signals. A terminal's Ctrl-C comes to a process and to its launcher, which passes it on: one press is one
 * wish, and only another one later is a second.
 */
export function onePress(act: () => void, now: () => Millis = () => performance.now()): () => void {
  let countedAt = -Infinity;
  return () => {
    if (now() - countedAt < ONE_PRESS_MILLIS) return;
    countedAt = now();
    act();
  };
}
