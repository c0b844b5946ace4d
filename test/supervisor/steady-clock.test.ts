import { describe, expect, it } from 'vitest';
import { steadyClock } from '../../src/supervisor/steady-clock.js';

describe('the clock of the supervisor', () => {
  const source = { now: 1_000_000, uptime: 0, wall: (): number => source.now, monotonic: (): number => source.uptime };
  const pass = (millis: number): void => {
    source.now += millis;
    source.uptime += millis;
  };

  it('goes on at its own pace when the wall clock is set back, and follows it when that is set forward', () => {
    const clock = steadyClock(source);
    pass(5000);
    expect(clock()).toBe(1_005_000);
    source.now -= 3_600_000;
    pass(10_000);
    expect(clock(), 'ten seconds later is ten seconds later').toBe(1_015_000);
    source.now += 7_200_000;
    expect(clock()).toBe(source.now);
  });
});
