import { describe, expect, it } from 'vitest';
import { parseChildArguments } from '../../src/engines/embedded/arguments.js';
import { parseSimArguments, readSimSettings } from '../../src/engines/sim/options.js';
import { LONGEST_TIMER_MILLIS } from '../../src/scheduler/units.js';

describe('a child that is to sleep after a month without work', () => {
  const args = ['--model', 'a.gguf', '--sleep-idle-seconds', String(31 * 24 * 60 * 60)];

  it('does not sleep at once, as a timer that is too long would have it', () => {
    expect(parseChildArguments(args, {}).sleepIdleMillis).toBe(LONGEST_TIMER_MILLIS);
    expect(readSimSettings(parseSimArguments(args.slice(2))).sleepAfterMillis).toBe(LONGEST_TIMER_MILLIS);
  });
});
