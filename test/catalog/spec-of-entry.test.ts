import { describe, expect, test } from 'vitest';
import type { CatalogEntry, ModelFiles } from '../../src/catalog/entry.js';
import { toModelSpec } from '../../src/catalog/spec-of-entry.js';
import { bareEntry } from '../support/bare-entry.js';

const files: ModelFiles = {
  shards: ['/m/a.gguf'],
  projector: null,
  draft: null,
  sizeBytes: 10,
  stamps: [{ path: '/m/a.gguf', sizeBytes: 10, modifiedAt: 1 }],
};
const entry = bareEntry('a', { args: ['--model', '/m/a.gguf'], files });

test('the scheduler learns what it has to know', () => {
  const full = bareEntry('a', {
    aliases: ['b'],
    pin: true,
    priority: 3,
    stopTimeoutMillis: 5,
    contextTokens: 8,
  });
  const placements = [{ need: { CUDA0: 5 }, quality: 'min' as const }];
  expect(toModelSpec(full, placements, '')).toMatchObject({
    id: 'a',
    aliases: ['b'],
    placements,
    contextPinned: true,
    fits: false,
    priority: 3,
    pinned: true,
    stopTimeoutMillis: 5,
    invalid: null,
  });
});

test('only the child of an engine that fits models to free memory sizes itself to it, and only with its context left open', () => {
  const pinned = (contextTokens: number | null, engineFits: boolean): boolean =>
    toModelSpec(bareEntry('a', { contextTokens }), [], '', engineFits).contextPinned;
  expect(pinned(null, true)).toBe(false);
  expect([pinned(8, true), pinned(null, false), pinned(8, false)]).toEqual([true, true, true]);
});

test('what cannot be started needs nothing', () => {
  const placements = [{ need: { CUDA0: 5 }, quality: 'estimate' as const }];
  expect(toModelSpec(bareEntry('a', { files, invalid: 'is empty' }), placements, '')).toMatchObject({
    invalid: 'is empty',
    placements: [{ need: {}, quality: 'estimate' }],
  });
});

test('there is always a placement', () => {
  expect(toModelSpec(entry, [], '').placements).toEqual([{ need: {}, quality: 'estimate' }]);
});

describe('the fingerprint', () => {
  const fingerprint = (change: Partial<CatalogEntry>, extra = 'e'): string =>
    toModelSpec({ ...entry, ...change }, [], extra).fingerprint;

  test.each<[string, Partial<CatalogEntry>]>([
    ['an argument', { args: ['--model', '/m/b.gguf'] }],
    ['the order of arguments', { args: ['/m/a.gguf', '--model'] }],
    ['where arguments end', { args: ['--model /m/a.gguf'] }],
    ['the size of its files', { files: { ...files, sizeBytes: 11 } }],
    ['the time of a file', { files: { ...files, stamps: [{ path: '/m/a.gguf', sizeBytes: 10, modifiedAt: 2 }] } }],
    ['a projector', { files: { ...files, projector: '/m/p.gguf' } }],
  ])('changes with %s', (_title, change) => {
    expect(fingerprint(change)).not.toBe(fingerprint({}));
  });

  test('changes with what else decides how the child is started', () => {
    expect(fingerprint({}, 'other')).not.toBe(fingerprint({}));
  });

  test.each<[string, Partial<CatalogEntry>]>([
    ['names', { aliases: ['x'], tags: ['y'] }],
    ['priority and pin', { priority: 9, pin: true }],
    ['time-outs', { idleTimeoutMillis: 1, stopTimeoutMillis: 1 }],
    ['its place in a file', { source: { kind: 'preset', path: '/p', line: 9 } }],
  ])('does not change with %s', (_title, change) => {
    expect(fingerprint(change)).toBe(fingerprint({}));
  });
});

test.each<[string, CatalogEntry['options'], number | null, boolean]>([
  ['nothing is said', [], null, true],
  ['fit is on', [{ name: 'fit', value: 'on' }], null, true],
  ['fit is off', [{ name: 'fit', value: 'off' }], null, false],
  ['only the context is given', [], 4096, true],
  ['only the layers are given', [{ name: 'n-gpu-layers', value: '99' }], null, true],
  ['both are given', [{ name: 'n-gpu-layers', value: '99' }], 4096, false],
  ['layers are left to the child', [{ name: 'n-gpu-layers', value: 'auto' }], 4096, true],
])('the child of an engine that fits may shrink itself: %s', (_title, options, contextTokens, fits) => {
  expect(toModelSpec({ ...entry, options, contextTokens }, [], '', true).fits).toBe(fits);
  expect(toModelSpec({ ...entry, options, contextTokens }, [], '').fits).toBe(false);
});
