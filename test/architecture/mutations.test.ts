import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MUTATIONS } from '../../scripts/mutations.js';

describe('the mutations that prove the tests of the scheduler', () => {
  it.each(MUTATIONS)('apply to the code as it is: $guard', ({ file, find, also }) => {
    const code = readFileSync(new URL(`../../src/scheduler/${file}`, import.meta.url), 'utf8');
    for (const text of also === undefined ? [find] : [find, also.find]) {
      expect(code.split(text).length - 1, text).toBe(1);
    }
  });
});
