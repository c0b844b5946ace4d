import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PinStore } from '../../src/supervisor/pins.js';
import { tempTree } from '../support/temp-tree.js';

it.each([
  ['is damaged', { 'pins.json': '{"version":' }, /pins\.json is not a pins file that can be read; nothing is pinned/u],
  ['is of another version', { 'pins.json': '{"version": 2, "pins": ["a"]}' }, /nothing is pinned by it/u],
  ['cannot be read', { 'pins.json/': '' }, /pins\.json cannot be read \(EISDIR.*\); nothing is pinned by it/u],
])('a pins file that %s is told of, and pins nothing', async (_what, tree, words) => {
  const { pins, notice } = await new PinStore(tempTree(tree)).load();
  expect(pins).toEqual([]);
  expect(notice).toMatch(words);
});

it('pins are read as they were saved, and there is nothing to tell where none ever were', async () => {
  const nowhere = join(tempTree({}), 'none');
  const store = new PinStore(tempTree({}));
  expect(await new PinStore(nowhere).load()).toEqual({ pins: [], notice: null });
  await store.save(['a', 'b/c:d e']);
  expect(await store.load()).toEqual({ pins: ['a', 'b/c:d e'], notice: null });
});
