import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CatalogSources, loadCatalog, type LoadedCatalog } from '../../src/catalog/catalog.js';
import type { CatalogEntry } from '../../src/catalog/entry.js';
import { LLAMA_SERVER_OPTIONS } from '../../src/catalog/llama-server-options.js';
import { tempTree, type Tree } from '../support/temp-tree.js';
import { SMALL_LLAMA, tinyGguf } from '../support/tiny-gguf.js';

const GOOD = tinyGguf();
const PROJECTOR = tinyGguf({ ...SMALL_LLAMA, metadata: { 'general.architecture': 'clip' } });

const NOTHING: CatalogSources = {
  modelsDir: null,
  presetFile: null,
  sampleModels: [],
  options: LLAMA_SERVER_OPTIONS,
  needsModelFile: true,
  commandLine: [],
  defaults: { stopTimeoutMillis: 10_000 },
};

/** Loads `models/` as models directory and, where there is one, `presets.ini`, in which `$` stands for the root. */
async function load(
  tree: Tree,
  more: Partial<CatalogSources> = {},
): Promise<LoadedCatalog & { readonly root: string }> {
  const root = tempTree({ 'models/': '', ...tree });
  const preset = tree['presets.ini'];
  if (typeof preset === 'string') writeFileSync(join(root, 'presets.ini'), preset.replaceAll('$', root));
  const presetFile = typeof preset === 'string' ? join(root, 'presets.ini') : null;
  return { root, ...(await loadCatalog({ ...NOTHING, modelsDir: join(root, 'models'), presetFile, ...more })) };
}

function ids({ entries }: LoadedCatalog): string[] {
  return entries.map(({ id }) => id);
}

function entryOf(catalog: LoadedCatalog, id: string): CatalogEntry {
  const entry = catalog.entries.find((candidate) => candidate.id === id);
  if (entry === undefined) throw new Error(`no entry ${id} in ${ids(catalog).join(', ')}`);
  return entry;
}

describe('a model of the directory', () => {
  test('has its files, header and arguments', async () => {
    const catalog = await load({
      'models/m/m.gguf': GOOD,
      'models/m/mmproj.gguf': PROJECTOR,
      'models/m/mtp-m.gguf': GOOD,
    });
    const at = (name: string): string => join(catalog.root, 'models/m', name);
    expect(catalog.entries).toEqual([
      {
        id: 'm',
        aliases: [],
        tags: [],
        source: { kind: 'directory', path: join(catalog.root, 'models/m'), line: null },
        options: [
          { name: 'model', value: at('m.gguf') },
          { name: 'mmproj', value: at('mmproj.gguf') },
          { name: 'model-draft', value: at('mtp-m.gguf') },
        ],
        args: ['--model', at('m.gguf'), '--mmproj', at('mmproj.gguf'), '--model-draft', at('mtp-m.gguf')],
        files: {
          shards: [at('m.gguf')],
          projector: at('mmproj.gguf'),
          draft: at('mtp-m.gguf'),
          sizeBytes: 2 * GOOD.length + PROJECTOR.length,
          stamps: [
            { path: at('m.gguf'), sizeBytes: GOOD.length, modifiedAt: expect.any(Number) as number },
            { path: at('mmproj.gguf'), sizeBytes: PROJECTOR.length, modifiedAt: expect.any(Number) as number },
            { path: at('mtp-m.gguf'), sizeBytes: GOOD.length, modifiedAt: expect.any(Number) as number },
          ],
        },
        header: {
          architecture: 'llama',
          parameters: 256,
          quantisation: 'Q4_K_M',
          trainedContextTokens: 4096,
          layers: 4,
          hasChatTemplate: true,
          kvBytesPerToken: 4 * 2 * 32 * 2,
          isEmbeddingModel: false,
        },
        invalid: null,
        pin: false,
        priority: 0,
        loadOnStartup: false,
        idleTimeoutMillis: 0,
        stopTimeoutMillis: 10_000,
        contextTokens: null,
      },
    ]);
    expect([catalog.notices, catalog.errors]).toEqual([[], []]);
  });

  test('in shards is the sum of them, also known by the stem of its first', async () => {
    const catalog = await load({ 'models/x-00001-of-00002.gguf': GOOD, 'models/x-00002-of-00002.gguf': GOOD });
    const entry = entryOf(catalog, 'x');
    expect(entry.aliases).toEqual(['x-00001-of-00002']);
    expect(entry.args).toEqual(['--model', join(catalog.root, 'models/x-00001-of-00002.gguf')]);
    expect(entry.files?.sizeBytes).toBe(2 * GOOD.length);
    expect(entry.header?.parameters).toBe(512);
    expect(entry.invalid).toBeNull();
  });
});

describe('a model that cannot be loaded says why', () => {
  test.each<[title: string, tree: Tree, reason: RegExp]>([
    ['an empty file', { 'models/m.gguf': '' }, /^"m\.gguf" is empty \(0 bytes\)$/],
    ['another format', { 'models/m.gguf': 'hello, this is text' }, /^"m\.gguf" is not a GGUF file/],
    [
      'a file that ends too early',
      { 'models/m.gguf': GOOD.subarray(0, -24) },
      /^"m\.gguf" is truncated: \d+ of \d+ bytes; download it again$/,
    ],
    [
      'a shard that ends too early',
      { 'models/m-00001-of-00002.gguf': GOOD, 'models/m-00002-of-00002.gguf': GOOD.subarray(0, -1) },
      /^"m-00002-of-00002\.gguf" is truncated/,
    ],
    [
      'a shard that is missing',
      { 'models/m-00001-of-00002.gguf': GOOD },
      /^m-00002-of-00002\.gguf of 2 shards is missing/,
    ],
    [
      'a projector that ends too early',
      { 'models/m/m.gguf': GOOD, 'models/m/mmproj.gguf': PROJECTOR.subarray(0, -1) },
      /^"mmproj\.gguf" is truncated/,
    ],
    ['a file without an architecture', { 'models/m.gguf': tinyGguf({}) }, /does not say which architecture/],
    [
      'a preset for a file that is not there',
      { 'presets.ini': '[m]\nmodel = $/gone.gguf' },
      /gone\.gguf" cannot be used: it does not exist/,
    ],
    ['a preset for a directory', { 'presets.ini': '[m]\nmodel = $/models' }, /^"models" is not a regular file/],
    [
      'a preset for the second shard',
      {
        'models/s/s-00001-of-00002.gguf': GOOD,
        'models/s/s-00002-of-00002.gguf': GOOD,
        'presets.ini': '[m]\nmodel = $/models/s/s-00002-of-00002.gguf',
      },
      /is shard 2 of 2; give the first shard/,
    ],
    [
      'a preset with a projector that is not there',
      { 'models/m.gguf': GOOD, 'presets.ini': '[m]\nmmproj = $/gone.gguf' },
      /gone\.gguf" cannot be used/,
    ],
    [
      'a value for all models that none would start with',
      { 'models/m.gguf': GOOD, 'presets.ini': '[*]\nctx-size = abc' },
      /^its option --ctx-size takes a number, not "abc"$/,
    ],
  ])('%s', async (_title, tree, reason) => {
    const catalog = await load(tree);
    const entry = catalog.entries.find(({ id }) => id === 'm');
    expect(entry?.invalid).toMatch(reason);
  });

  test('sizes over a megabyte are shown in MiB', async () => {
    const tensors = [{ name: 't', shape: [1024, 1024], type: 0, offset: 0 }];
    const whole = tinyGguf({ ...SMALL_LLAMA, tensors, dataBytes: 4 * 1024 * 1024 });
    const catalog = await load({ 'models/m.gguf': whole.subarray(0, 1_572_864) });
    expect(entryOf(catalog, 'm').invalid).toBe('"m.gguf" is truncated: 1.5 MiB of 4.0 MiB; download it again');
  });

  test('and takes no other model down', async () => {
    const catalog = await load({ 'models/bad.gguf': 'x', 'models/good.gguf': GOOD });
    expect(catalog.entries.map(({ id, invalid }) => [id, invalid === null])).toEqual([
      ['bad', false],
      ['good', true],
    ]);
  });
});

describe('sources are laid over each other', () => {
  test('command line over section over [*], each option once, the model first', async () => {
    const catalog = await load(
      { 'models/m.gguf': GOOD, 'presets.ini': '[*]\nc = 1\nt = 1\nno-mmap = on\n[m]\nc = 2\nt = 2\nngl = 5' },
      {
        commandLine: [
          { name: 't', value: '3' },
          { name: 'jinja', value: true },
        ],
      },
    );
    const entry = entryOf(catalog, 'm');
    expect(entry.args.slice(2).join(' ')).toBe('--ctx-size 2 --no-mmap --threads 3 --n-gpu-layers 5 --jinja');
    expect(entry.args.slice(0, 2)).toEqual(['--model', join(catalog.root, 'models/m.gguf')]);
    expect(entry.contextTokens).toBe(2);
    expect(entry.source).toEqual({ kind: 'preset', path: join(catalog.root, 'presets.ini'), line: 5 });
  });

  test('[*] is also for models that no section names', async () => {
    const catalog = await load({ 'models/m.gguf': GOOD, 'presets.ini': '[*]\nc = 4096\nidle-timeout = 60' });
    expect(entryOf(catalog, 'm')).toMatchObject({ contextTokens: 4096, idleTimeoutMillis: 60_000 });
  });

  test('a section keeps the projector that was found, and may take another model', async () => {
    const catalog = await load({
      'models/m/m.gguf': GOOD,
      'models/m/mmproj.gguf': PROJECTOR,
      'other.gguf': GOOD,
      'presets.ini': '[m]\nmodel = $/other.gguf',
    });
    expect(entryOf(catalog, 'm').files).toMatchObject({
      shards: [join(catalog.root, 'other.gguf')],
      projector: join(catalog.root, 'models/m/mmproj.gguf'),
    });
  });

  test('a section may call a set of shards as llama-server does', async () => {
    const catalog = await load({ 'models/x-00001-of-00001.gguf': GOOD, 'presets.ini': '[x-00001-of-00001]\nc = 8' });
    expect(ids(catalog)).toEqual(['x']);
    expect(entryOf(catalog, 'x').contextTokens).toBe(8);
  });

  test('a flag that is off: said where it can be said, else left out', async () => {
    const catalog = await load({
      'models/m.gguf': GOOD,
      'presets.ini': '[*]\nembeddings = on\n[m]\nembeddings = off\nmmap = off',
    });
    expect(entryOf(catalog, 'm').args.slice(2)).toEqual(['--no-mmap']);
  });

  test("what is about one model, and what is the router's, does not come from the command line", async () => {
    const given = ['model', 'alias', 'hf-repo', 'host', 'models-max', 'LLAMA_API_KEY'].map((name) => ({
      name,
      value: 'x',
    }));
    const catalog = await load({ 'models/m.gguf': GOOD }, { commandLine: given });
    expect(entryOf(catalog, 'm').args).toEqual(['--model', join(catalog.root, 'models/m.gguf')]);
    expect(catalog.notices.map(({ message }) => message)).toEqual([
      '--model is ignored: it is about one model; put it into a preset',
      '--alias is ignored: it is about one model; put it into a preset',
      '--hf-repo is ignored: it is about one model; put it into a preset',
      ...['host', 'models-max', 'api-key'].map(
        (name) => `--${name} is ignored: it is a router's, and says nothing to models`,
      ),
    ]);
  });

  test('samples come first, then the directory in name order, then presets in file order', async () => {
    const root = tempTree({ 'tiny.gguf': GOOD });
    const catalog = await load(
      { 'models/b.gguf': GOOD, 'models/a.gguf': GOOD, 'presets.ini': '[z]\nhf = o/z\n[b]\nc = 1\n[y]\nhf = o/y' },
      { sampleModels: [join(root, 'tiny.gguf')] },
    );
    expect(ids(catalog)).toEqual(['tiny', 'a', 'b', 'z', 'y']);
    expect(entryOf(catalog, 'tiny').source.kind).toBe('sample');
  });

  test('a model that the child fetches itself has no files to look at', async () => {
    const catalog = await load({ 'presets.ini': '[z]\nhf = org/repo:Q4' });
    expect(entryOf(catalog, 'z')).toMatchObject({
      args: ['--hf-repo', 'org/repo:Q4'],
      files: null,
      header: null,
      invalid: null,
    });
  });

  test('nor has one that it fetches to a path that does not exist yet', async () => {
    const catalog = await load({ 'presets.ini': '[z]\nmodel-url = https://x.invalid/z.gguf\nmodel = $/z.gguf' });
    expect(entryOf(catalog, 'z')).toMatchObject({ files: null, invalid: null });
  });

  test('shards of a preset are found beside the first, its path kept as written', async () => {
    const catalog = await load({
      'store/a-00001-of-00002.gguf': GOOD,
      'store/a-00002-of-00002.gguf': GOOD,
      'presets.ini': '[a]\nmodel = $/models/../store/a-00001-of-00002.gguf',
    });
    const entry = entryOf(catalog, 'a');
    expect(entry.invalid).toBeNull();
    expect(entry.args[1]).toBe(`${catalog.root}/models/../store/a-00001-of-00002.gguf`);
    expect(entry.files).toMatchObject({
      shards: [entry.args[1], join(catalog.root, 'store/a-00002-of-00002.gguf')],
      sizeBytes: 2 * GOOD.length,
    });
  });
});

describe('a section without a model', () => {
  const tree = { 'models/m.gguf': GOOD, 'presets.ini': '[a]\nc = 1\n[m]\nc = 2' };

  test('is left out with a notice, unless it is laid over a model that was found', async () => {
    const catalog = await load(tree);
    expect(ids(catalog)).toEqual(['m']);
    expect(catalog.notices).toEqual([
      {
        path: join(catalog.root, 'presets.ini'),
        line: 1,
        message: 'section "a" is left out: it names no model; give it a model = PATH',
      },
    ]);
  });

  test('is a model of an engine that needs no file, and a file that is not there does not matter to it', async () => {
    const catalog = await load(
      { ...tree, 'presets.ini': '[a]\nc = 1\n[b]\nmodel = $/gone.gguf' },
      { needsModelFile: false },
    );
    expect(catalog.entries.map(({ id, args, files, invalid }) => [id, args.length, files === null, invalid])).toEqual([
      ['m', 2, false, null],
      ['a', 2, true, null],
      ['b', 2, true, null],
    ]);
  });
});

describe('names', () => {
  test('aliases and tags are comma lists and reach no child', async () => {
    const catalog = await load({ 'models/m.gguf': GOOD, 'presets.ini': '[m]\nalias = gpt 4, big ,,big\ntags = x , y' });
    const entry = entryOf(catalog, 'm');
    expect([entry.aliases, entry.tags]).toEqual([
      ['gpt 4', 'big'],
      ['x', 'y'],
    ]);
    expect(entry.args).toHaveLength(2);
  });

  test('of two models with one alias the first keeps it; an id is never an alias', async () => {
    const catalog = await load({
      'presets.ini': '[a]\nhf = x\nalias = one, b\n[b]\nhf = x\nalias = one, two, b\n[c]\nhf = x',
    });
    expect(catalog.entries.map(({ id, aliases }) => [id, aliases])).toEqual([
      ['a', ['one']],
      ['b', ['two']],
      ['c', []],
    ]);
    expect(catalog.notices.map(({ line, message }) => [line, message])).toEqual([
      [1, 'alias "b" of "a" is left out: it already means "b"; choose another'],
      [4, 'alias "one" of "b" is left out: it already means "a"; choose another'],
    ]);
  });

  test('ids may hold slashes, colons, blanks and any letters', async () => {
    const catalog = await load({
      'models/мо дель.gguf': GOOD,
      'presets.ini': '[org/m x:q4]\nmodel = $/models/мо дель.gguf',
    });
    expect(catalog.entries.map(({ id, invalid }) => [id, invalid])).toEqual([
      ['мо дель', null],
      ['org/m x:Q4', null],
    ]);
  });
});

describe('a source that cannot be read', () => {
  test('is an error beside what the others hold', async () => {
    const catalog = await load({ 'models/m.gguf': GOOD }, { presetFile: '/nowhere/p.ini' });
    expect(ids(catalog)).toEqual(['m']);
    expect(catalog.errors.map(({ path }) => path)).toEqual(['/nowhere/p.ini']);
  });

  test('does not take presets down either', async () => {
    const catalog = await load({ 'presets.ini': '[a]\nhf = x' }, { modelsDir: '/nowhere/models' });
    expect(ids(catalog)).toEqual(['a']);
    expect(catalog.errors.map(({ message }) => message)).toEqual([
      'cannot read the models directory "/nowhere/models": it does not exist; give an existing directory as --models-dir',
    ]);
  });
});

test('nothing given is an empty catalog', async () => {
  expect(await loadCatalog(NOTHING)).toEqual({ entries: [], notices: [], errors: [] });
});

test('five thousand files are all found while the event loop goes on', async () => {
  const root = tempTree({});
  const models = join(root, 'many');
  mkdirSync(models);
  for (let index = 0; index < 5_000; index += 1) writeFileSync(join(models, `m${index}.gguf`), GOOD);
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 10);
  const catalog = await loadCatalog({ ...NOTHING, modelsDir: models });
  clearInterval(timer);
  expect(catalog.entries).toHaveLength(5_000);
  expect(catalog.entries.filter(({ invalid, header }) => invalid === null && header !== null)).toHaveLength(5_000);
  expect(turns).toBeGreaterThan(5);
});
