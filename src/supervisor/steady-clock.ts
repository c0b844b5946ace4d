import type { Millis } from '../scheduler/units.js';

/** Where a wall clock and a clock that never jumps come from; a test brings its own. */
export interface ClockSource {
  readonly wall: () => Millis;
  readonly monotonic: () => Millis;
}

const SYSTEM: ClockSource = { wall: () => Date.now(), monotonic: () => performance.now() };

/**
 * The time of day that never goes back. When somebody sets the clock back, it goes on at its own pace until the wall
 * clock has caught up: what was to happen in ten seconds happens in ten seconds.
 */
export function steadyClock(source: ClockSource = SYSTEM): () => Millis {
  let last = source.wall();
  let lastMonotonic = source.monotonic();
  return () => {
    const monotonic = source.monotonic();
    last = Math.max(source.wall(), last + (monotonic - lastMonotonic));
    lastMonotonic = monotonic;
    return Math.round(last);
  };
}
