import { expect, it } from 'vitest';
import { onePress } from '../../src/cli/one-press.js';

it('signals within half a second are one, and the next one later is a second', () => {
  let time = 1000;
  const counted: number[] = [];
  const signalled = onePress(
    () => counted.push(time),
    () => time,
  );
  for (time of [1000, 1003, 1499, 1500, 1700, 5000, 5001]) signalled();
  expect(counted).toEqual([1000, 1500, 5000]);
});
