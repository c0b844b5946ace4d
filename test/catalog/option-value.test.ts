import { describe, expect, it, test } from 'vitest';
import { LLAMA_SERVER_OPTIONS } from '../../src/catalog/llama-server-options.js';
import { findOption } from '../../src/catalog/option-table.js';
import { whyNotTaken } from '../../src/catalog/option-value.js';
import { readPresetText } from '../../src/catalog/preset-source.js';
import { checkChildVariables, childFlags } from '../../src/cli/child-flags.js';
import { SIM_OPTIONS } from '../../src/engines/sim/options.js';

const why = (option: string, value: string): string | null =>
  whyNotTaken(value, findOption(LLAMA_SERVER_OPTIONS, option)?.spec);

describe('a value on which llama-server would not start', () => {
  it.each([
    ['ctx-size', 'abc', 'takes a number, not "abc"'],
    ['c', '', 'takes a number, not ""'],
    ['temperature', 'warm', 'takes a number, not "warm"'],
    ['n-gpu-layers', 'most', 'takes a number, auto or all, not "most"'],
    ['flash-attn', '7', 'takes on, off or auto, not "7"'],
    ['split-mode', 'rows', 'takes none, layer, row or tensor, not "rows"'],
    ['split-mode', 'on', 'takes none, layer, row or tensor, not "on"'],
  ])('is told: %s %s', (option, value, said) => {
    expect(why(option, value)).toBe(said);
  });

  it.each([
    ['ctx-size', '4096'],
    ['ctx-size', '4096k'],
    ['predict', '-1'],
    ['min-p', '.05'],
    ['dynatemp-range', '1e-3'],
    ['rope-freq-base', 'inf'],
    ['n-gpu-layers', 'all'],
    ['flash-attn', 'enabled'],
    ['flash-attn', '-1'],
    ['fit', '0'],
    ['model', 'abc'],
    ['defrag-thold', 'abc'],
  ])('is not %s %s', (option, value) => {
    expect(why(option, value)).toBeNull();
  });
});

test('on the command line it is refused before anything starts', () => {
  const given =
    (...words: readonly string[]) =>
    () =>
      childFlags(words, LLAMA_SERVER_OPTIONS, 'llama-server');
  expect(given('--ctx-size', 'abc')).toThrow('--ctx-size takes a number, not "abc"; no model would start with it.');
  expect(given('-fa=maybe')).toThrow('-fa takes on, off or auto, not "maybe"');
  expect(given('-c', '0')()).toEqual([{ name: 'ctx-size', value: '0' }]);
});

test('so is one in a variable that children read', () => {
  const given = (environment: NodeJS.ProcessEnv) => () => checkChildVariables(environment, LLAMA_SERVER_OPTIONS);
  expect(given({ LLAMA_ARG_CTX_SIZE: 'abc' })).toThrow('LLAMA_ARG_CTX_SIZE takes a number, not "abc"');
  expect(given({ LLAMA_ARG_CTX_SIZE: '4096', LLAMA_ARG_PORT: 'abc', LLAMA_ARG_MODEL: 'abc' })).not.toThrow();
});

test('in a preset it has a notice with its line, and is a fault that a file under way may have', () => {
  const { notices, faults, models } = readPresetText(
    '/p.ini',
    '[a]\nmodel = a.gguf\nc = 4k\nngl = lots\n',
    LLAMA_SERVER_OPTIONS,
  );
  expect(notices).toEqual([
    { path: '/p.ini', line: 4, message: 'key "ngl" takes a number, auto or all, not "lots": no model starts with it' },
  ]);
  expect(faults.map(({ line }) => line)).toEqual([4]);
  expect(models.map(({ id }) => id)).toEqual(['a']);
});

describe('a value on which a simulated model would not start', () => {
  const OURS = SIM_OPTIONS.filter(({ name }) => name.startsWith('sim-'));

  it('is known of every option of its own', () => {
    expect(OURS.filter(({ form }) => form === undefined)).toEqual([]);
    expect(OURS.length).toBeGreaterThan(5);
  });

  it.each(OURS.map(({ name, form }) => [name, form?.name ?? '']))(
    'is told with its line: %s takes %s',
    (name, form) => {
      for (const value of ['x', '-1', '8 GiBs', '1e', '']) {
        const { notices, faults } = readPresetText('/p.ini', `[a]\n${name} = ${value}`, SIM_OPTIONS);
        const message = `key "${name}" takes ${form}, not "${value}"`;
        expect(notices).toEqual([{ path: '/p.ini', line: 2, message: `${message}: no model starts with it` }]);
        expect(faults).toEqual([{ path: '/p.ini', line: 2, message }]);
      }
    },
  );
});
