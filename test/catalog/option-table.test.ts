import { describe, expect, test } from 'vitest';
import { LLAMA_SERVER_OPTIONS } from '../../src/catalog/llama-server-options.js';
import { findOption, nearestOption, truthOf } from '../../src/catalog/option-table.js';

const table = LLAMA_SERVER_OPTIONS;

describe('a key finds its option', () => {
  test.each([
    ['ctx-size', 'ctx-size', false],
    ['c', 'ctx-size', false],
    ['LLAMA_ARG_CTX_SIZE', 'ctx-size', false],
    ['ngl', 'n-gpu-layers', false],
    ['gpu-layers', 'n-gpu-layers', false],
    ['n', 'n-predict', false],
    ['predict', 'n-predict', false],
    ['hf', 'hf-repo', false],
    ['HF_TOKEN', 'hf-token', false],
    ['no-mmap', 'mmap', true],
    ['nkvo', 'kv-offload', true],
    ['no-kv-offload', 'kv-offload', true],
    ['no-mmproj', 'mmproj-auto', true],
    ['no-mmproj-auto', 'mmproj-auto', true],
    ['mmproj', 'mmproj', false],
    ['no-host', 'no-host', false],
    ['LLAMA_ARG_NO_MMAP', 'mmap', false],
  ])('%s means %s', (key, name, negated) => {
    const match = findOption(table, key);
    expect([match?.spec.name, match?.negated]).toEqual([name, negated]);
  });

  test.each([
    '--ctx-size',
    'ctx_size',
    'CTX-SIZE',
    'no-ctx-size',
    'no-embeddings',
    'llama_arg_ctx_size',
    '',
    'constructor',
  ])('%j means nothing', (key) => {
    expect(findOption(table, key)).toBeNull();
  });

  test('a variable with NO in it is told apart, since it does not turn the value round', () => {
    expect(findOption(table, 'LLAMA_ARG_NO_MMAP')?.negativeVariable).toBe(true);
    expect(findOption(table, 'LLAMA_ARG_MMAP')?.negativeVariable).toBe(false);
  });
});

test.each([
  ['ctx_size', 'ctx-size'],
  ['cxt-size', 'ctx-size'],
  ['n-gpu-layer', 'n-gpu-layers'],
  ['Temp', 'temp'],
  ['LLAMA_ARG_CTXSIZE', 'LLAMA_ARG_CTX_SIZE'],
  ['qqqqqqqq', null],
])('the option nearest to %s is %s', (key, name) => {
  expect(nearestOption(table, key)).toBe(name);
});

test("flags know llama-server's words for yes and no, and no others", () => {
  expect(['true', 'on', '1', 'enabled'].map(truthOf)).toEqual([true, true, true, true]);
  expect(['false', 'off', '0', 'disabled'].map(truthOf)).toEqual([false, false, false, false]);
  expect(['yes', 'no', 'True', 'ON', '', 'auto', '01'].map(truthOf)).toEqual([
    null,
    null,
    null,
    null,
    null,
    null,
    null,
  ]);
});

test('the table of llama-server is large, and no spelling in it means two options', () => {
  const spellings = table.flatMap(({ name, aliases, env, negatedAliases = [], negatable }) => [
    name,
    ...aliases,
    ...negatedAliases,
    ...(env === null ? [] : [env]),
    ...(negatable ? [`no-${name}`] : []),
  ]);
  expect(table.length).toBeGreaterThanOrEqual(120);
  expect(spellings.filter((spelling, index) => spellings.indexOf(spelling) !== index)).toEqual([]);
  expect(spellings.filter((spelling) => !/^[A-Za-z][A-Za-z0-9_.-]*$/u.test(spelling))).toEqual([]);
});
