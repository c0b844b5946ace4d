import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TimerName } from '../../src/scheduler/events.js';
import { Timers } from '../../src/supervisor/timers.js';

const DRAIN: TimerName = { kind: 'drain', model: 'a', generation: 1 };
const DAY_MILLIS = 24 * 60 * 60 * 1000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Timers whose clock is what Node's says, less what it lags; what fired, and when by that clock. */
function timersThatLag(lag: () => number): { timers: Timers; fired: { at: number; timer: TimerName }[] } {
  const start = Date.now();
  const now = (): number => Date.now() - start - lag();
  const fired: { at: number; timer: TimerName }[] = [];
  return { timers: new Timers(now, (timer) => fired.push({ at: now(), timer })), fired };
}

describe('a timer', () => {
  it('fires at its time, once', () => {
    const { timers, fired } = timersThatLag(() => 0);
    timers.arm(1000, DRAIN);
    vi.advanceTimersByTime(5000);
    expect(fired).toEqual([{ at: 1000, timer: DRAIN }]);
  });

  it('that Node fires a millisecond early by our clock still fires, and not before its time', () => {
    let lag = 0;
    const { timers, fired } = timersThatLag(() => lag);
    timers.arm(1000, DRAIN);
    lag = 1;
    vi.advanceTimersByTime(5000);
    expect(fired).toEqual([{ at: 1000, timer: DRAIN }]);
  });

  it('for a time that is past fires at once', () => {
    const { timers, fired } = timersThatLag(() => 0);
    timers.arm(-5, DRAIN);
    vi.advanceTimersByTime(1);
    expect(fired).toHaveLength(1);
  });

  it('for a time that is further away than setTimeout can count to does not fire at once', () => {
    const { timers, fired } = timersThatLag(() => 0);
    timers.arm(60 * DAY_MILLIS, DRAIN);
    vi.advanceTimersByTime(59 * DAY_MILLIS);
    expect(fired).toEqual([]);
    vi.advanceTimersByTime(DAY_MILLIS);
    expect(fired).toEqual([{ at: 60 * DAY_MILLIS, timer: DRAIN }]);
  });

  it('fires no more once they are closed', () => {
    let lag = 0;
    const { timers, fired } = timersThatLag(() => lag);
    timers.arm(1000, DRAIN);
    lag = 500;
    vi.advanceTimersByTime(1200);
    timers.close();
    vi.advanceTimersByTime(5000);
    expect(fired).toEqual([]);
  });
});
