import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CatalogReader } from '../../src/catalog/catalog-reader.js';
import { LLAMA_SERVER_OPTIONS } from '../../src/catalog/llama-server-options.js';
import { tempTree } from '../support/temp-tree.js';
import { tinyGguf } from '../support/tiny-gguf.js';

const GOOD = tinyGguf();

function readerOf(root: string): CatalogReader {
  return new CatalogReader({
    modelsDir: join(root, 'models'),
    presetFile: join(root, 'p.ini'),
    sampleModels: [],
    options: LLAMA_SERVER_OPTIONS,
    needsModelFile: true,
    commandLine: [],
    defaults: { stopTimeoutMillis: 10_000 },
  });
}

async function read(reader: CatalogReader): Promise<{ ids: string[]; errors: string[] }> {
  const { entries, errors } = await reader.read();
  return { ids: entries.map(({ id }) => id), errors: errors.map(({ message }) => message) };
}

describe('reading the sources again', () => {
  test('each source is taken whole or not at all: a broken one does not hold the other up', async () => {
    const root = tempTree({ 'models/m.gguf': GOOD, 'p.ini': '[x]\nmodel = /x.gguf\n' });
    const reader = readerOf(root);
    expect(await read(reader)).toEqual({ ids: ['m', 'x'], errors: [] });
    writeFileSync(join(root, 'models/n.gguf'), GOOD);
    writeFileSync(join(root, 'p.ini'), '[y]\nmodel = /y.gguf\n[z]\n');
    const second = await read(reader);
    expect(second.ids).toEqual(['m', 'n', 'x']);
    expect(second.errors).toEqual([
      expect.stringMatching(/p\.ini:3: section "z" names no model; give it a model = PATH — the presets stay/u),
    ]);
    rmSync(join(root, 'models'), { recursive: true });
    writeFileSync(join(root, 'p.ini'), '[y]\nmodel = /y.gguf\n');
    const third = await read(reader);
    expect(third.ids).toEqual(['m', 'n', 'y']);
    expect(third.errors).toEqual([expect.stringContaining('cannot read the models directory')]);
  });

  test('what was wrong from the start costs its section only, then as before', async () => {
    const root = tempTree({ 'models/': '', 'p.ini': '[bad]\nmodel = /b\nwhat = 1\n[x]\nmodel = /x\n' });
    const reader = readerOf(root);
    expect(await read(reader)).toEqual({ ids: ['x'], errors: [] });
    writeFileSync(
      join(root, 'p.ini'),
      '# a line more\n[bad]\nmodel = /b\nwhat = 1\n[x]\nmodel = /x\n[y]\nmodel = /y\n',
    );
    expect(await read(reader)).toEqual({ ids: ['x', 'y'], errors: [] });
    writeFileSync(join(root, 'p.ini'), '[bad]\nmodel = /b\nwhat = 1\n[x]\nmodel = /x\nwhy = 1\n');
    expect((await read(reader)).errors).toEqual([expect.stringMatching(/p\.ini:6: unknown key "why"/u)]);
  });

  test('an empty file is half-written; one that says that it is empty is not', async () => {
    const root = tempTree({ 'models/': '', 'p.ini': '[x]\nmodel = /x\n' });
    const reader = readerOf(root);
    await read(reader);
    writeFileSync(join(root, 'p.ini'), '\n');
    expect((await read(reader)).ids).toEqual(['x']);
    writeFileSync(join(root, 'p.ini'), '; nothing for now\n');
    expect(await read(reader)).toEqual({ ids: [], errors: [] });
  });
});
