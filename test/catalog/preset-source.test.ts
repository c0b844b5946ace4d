import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CatalogSourceError } from '../../src/catalog/catalog-source-error.js';
import { LLAMA_SERVER_OPTIONS } from '../../src/catalog/llama-server-options.js';
import { type Presets, readPresetFile, readPresetText } from '../../src/catalog/preset-source.js';
import { unprivileged } from '../support/unprivileged.js';
import { tempTree } from '../support/temp-tree.js';

function read(text: string): Presets {
  return readPresetText('/p.ini', text, LLAMA_SERVER_OPTIONS);
}

function optionsOf(text: string): Record<string, string | boolean> {
  return Object.fromEntries(read(text).models[0]?.settings.options ?? []);
}

function said(text: string): string[] {
  return read(text).notices.map(({ line, message }) => `${line ?? '-'}: ${message}`);
}

describe('a key means the option that llama-server makes of it', () => {
  test.each([
    ['a long name', 'ctx-size = 4096', { 'ctx-size': '4096' }],
    ['a short name', 'c = 4096', { 'ctx-size': '4096' }],
    ['a variable', 'LLAMA_ARG_CTX_SIZE = 4096', { 'ctx-size': '4096' }],
    ['a flag that is on', 'embeddings = on', { embeddings: true }],
    ['a flag that is off', 'mmap = 0', { mmap: false }],
    ['a no- form turns yes round', 'no-mmap = true', { mmap: false }],
    ['a no- form turns no round', 'no-mmap = disabled', { mmap: true }],
    ['a short no- form', 'nkvo = 1', { 'kv-offload': false }],
    ['a NO variable does not turn round', 'LLAMA_ARG_NO_MMAP = true', { mmap: true }],
    ['any other word is yes', 'mmap = yes', { mmap: true }],
    ['any other word is yes, so no- of it is also on', 'no-mmap = yes', { mmap: true }],
    ['an option with words of its own keeps them', 'flash-attn = on', { 'flash-attn': 'on' }],
    ['two names of one option: the later counts', 'c = 1\nctx-size = 2', { 'ctx-size': '2' }],
    ['version is passed over', 'version = 1\nc = 1', { 'ctx-size': '1' }],
    [
      "the router's keys are passed over",
      'host = x\nport = 1\nLLAMA_API_KEY = k\nssl-key-file = f\nmodels-max = 2',
      {},
    ],
    ["keys of the router that no table knows are the router's too", 'models-memory-margin = 2', {}],
  ])('%s', (_title, keys, expected) => {
    expect(optionsOf(`[a]\n${keys}`)).toEqual(expected);
  });
});

describe('keys that no child sees', () => {
  test.each([
    ['pin = on', { pin: true }],
    ['pin = off', { pin: false }],
    ['priority = -3', { priority: -3 }],
    ['load-on-startup = 1', { loadOnStartup: true }],
    ['idle-timeout = 90', { idleTimeoutMillis: 90_000 }],
    ['idle-timeout = 0', { idleTimeoutMillis: 0 }],
    ['idle-timeout = never', { idleTimeoutMillis: 0 }],
    ['stop-timeout = 2.5', { stopTimeoutMillis: 2_500 }],
    ['stop-timeout = 999999999999', { stopTimeoutMillis: 2_147_483_647 }],
    ['priority = high', {}],
    ['idle-timeout = soon', {}],
    ['stop-timeout = -1', {}],
    ['dedup-cache-models = 1', { dedupCacheModels: true }],
    ['engine = sim', { engine: { name: 'sim', line: 2 } }],
  ])('%s', (key, expected) => {
    const { options, ...settings } = read(`[a]\n${key}`).models[0]?.settings ?? { options: new Map() };
    expect(settings).toEqual(expected);
    expect(options.size).toBe(0);
  });
});

test('of two names of one option the later in the order of bytes counts, wherever it stands', () => {
  expect(optionsOf('[a]\nctx-size = 1\nc = 2\nLLAMA_ARG_CTX_SIZE = 3')).toEqual({ 'ctx-size': '1' });
});

describe('sections', () => {
  test('[*] is for all and is itself no model', () => {
    const presets = read('[*]\nc = 1\n[a]\nb = 2');
    expect(Object.fromEntries(presets.defaults.options)).toEqual({ 'ctx-size': '1' });
    expect(presets.models.map(({ id }) => id)).toEqual(['a']);
  });

  test.each([
    ['keys before any section are the model default', 'c = 1\n[a]', ['default', 'a']],
    ['default does not exist for version alone', 'version = 1\n[a]', ['a']],
    ['the tag of repo:tag is upper-cased', '[org/m-GGUF:q4_k_m]', ['org/m-GGUF:Q4_K_M']],
    ['models stay in file order', '[z]\n[a]\n[m]', ['z', 'a', 'm']],
    ['two spellings of one tag are one model', '[m:q4]\n[x]\n[m:Q4]', ['m:Q4', 'x']],
    ['of a tag with more in front the quantisation counts', '[org/m:UD-Q4_K_XL]', ['org/m:Q4_K_XL']],
  ])('%s', (_title, text, ids) => {
    expect(read(text).models.map(({ id }) => id)).toEqual(ids);
  });

  test('an unknown key takes its own section down and no other', () => {
    const presets = read('[a]\nctx_size = 1\n[b]\nc = 2');
    expect(presets.models.map(({ id }) => id)).toEqual(['b']);
    expect(presets.notices).toEqual([
      {
        path: '/p.ini',
        line: 2,
        message: expect.stringMatching(/"ctx_size".*"a" is left out; did you mean "ctx-size"\?/) as string,
      },
    ]);
  });
});

test('an unknown key under [*] takes nothing else down: the rest of [*] may be what keeps models small', () => {
  const presets = read('[*]\nc = 1\nctxsize = 2\n[a]\nb = 2');
  expect(Object.fromEntries(presets.defaults.options)).toEqual({ 'ctx-size': '1' });
  expect(presets.models.map(({ id }) => id)).toEqual(['a']);
  expect(presets.notices.map(({ message }) => message)).toEqual([expect.stringContaining('the key is left out')]);
});

describe('surprises are notices', () => {
  test.each([
    ["a key of the router's", 'api-key = x', /"api-key" is ignored: it is the router's/],
    ['a word that is no yes or no', 'mmap = yes', /"yes" is no yes or no for the flag "mmap", and means on/],
    ['the same for a no- form', 'no-mmap = yes', /means on/],
    ['a NO variable', 'LLAMA_ARG_NO_MMAP = 1', /does not turn its value round.*"mmap" is on/],
    ['a key without a value', 'chat-template =', /"chat-template" has no value/],
    ['two names of one option', 'c = 1\nctx-size = 2', /another name of "ctx-size"/],
    ['a priority that is none', 'priority = high', /"high" is no priority/],
    ['an engine that is none', 'engine = vllm', /"vllm" is no engine/],
    ['a key that is like nothing', 'zzzzzzzzzz = 1', /no option is called so/],
    ['a key of ours, misspelled', 'priorty = 1', /did you mean "priority"\?/],
  ])('%s', (_title, keys, expected) => {
    expect(said(`[a]\n${keys}`)).toContainEqual(expect.stringMatching(expected));
  });

  test('they come in line order', () => {
    const lines = read('x\n[a:q]\nmmap = yes\ny\nhost = 1').notices.map(({ line }) => line);
    expect(lines).toEqual([1, 2, 3, 4, 5]);
  });

  test('a preset without surprises has none', () => {
    const text =
      '; mine\nversion = 1\n\n[*]\nngl = 99\n\n[a]\nmodel = /m/a.gguf ; the small one\npin = true\nno-mmap = on\n';
    expect(said(text)).toEqual([]);
  });
});

test('any text can be read', () => {
  const key = fc.constantFrom('c', 'no-mmap', 'pin', 'host', 'priority', 'zz', 'version', '__proto__', 'constructor');
  const line = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('[*]', '[a]', '[a:b]', '[__proto__]'),
    fc.tuple(key, fc.string()).map(([name, value]) => `${name} = ${value}`),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
      for (const { message } of read(lines.join('\n')).notices) expect(message).not.toMatch(/\p{Cc}/u);
    }),
  );
});

describe('a file that cannot be read is one clear sentence', () => {
  test.each([
    ['missing.ini', /missing\.ini": it does not exist; give an existing INI file as --models-preset/],
    ['dir', /it is a directory/],
  ])('%s', async (name, message) => {
    const root = tempTree({ 'dir/': '' });
    const failure = await readPresetFile(join(root, name), LLAMA_SERVER_OPTIONS).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(CatalogSourceError);
    expect(failure).toMatchObject({ path: join(root, name), message: expect.stringMatching(message) as string });
  });

  test('one without permission', async () => {
    const root = tempTree({ 'p.ini': '[a]' });
    chmodSync(join(root, 'p.ini'), 0);
    const reading = unprivileged(root, () => readPresetFile(join(root, 'p.ini'), LLAMA_SERVER_OPTIONS));
    await expect(reading).rejects.toThrow(/permission denied/);
  });
});
