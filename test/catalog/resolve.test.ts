import { expect, test } from 'vitest';
import type { CatalogEntry } from '../../src/catalog/entry.js';
import { nearestNames, resolveModel } from '../../src/catalog/resolve.js';
import { bareEntry } from '../support/bare-entry.js';

const entries: CatalogEntry[] = [
  bareEntry('org/qwen3 8b:Q4_K_M', { aliases: ['qwen', 'big'] }),
  bareEntry('gemma-3-4b', { aliases: ['small'] }),
  bareEntry('llama', {}),
];

test.each([
  ['org/qwen3 8b:Q4_K_M', 'org/qwen3 8b:Q4_K_M'],
  ['qwen', 'org/qwen3 8b:Q4_K_M'],
  ['small', 'gemma-3-4b'],
  ['Small', null],
  ['org/qwen3 8b', null],
  ['', null],
  ['__proto__', null],
])('%j means %j', (name, id) => {
  expect(resolveModel(entries, name)?.id ?? null).toBe(id);
});

test.each([
  ['gema-3-4b', ['gemma-3-4b']],
  ['QWEN', ['qwen', 'org/qwen3 8b:Q4_K_M']],
  ['qwen3', ['org/qwen3 8b:Q4_K_M', 'qwen']],
  ['lama', ['llama']],
  ['nothing like any of these', []],
])('the names nearest to %j are %j', (name, names) => {
  expect(nearestNames(entries, name, 2)).toEqual(names);
});

test('a very long name is compared in part', () => {
  expect(nearestNames(entries, 'x'.repeat(1_000_000), 3)).toEqual([]);
});
