import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, truncate, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gguf } from '@huggingface/gguf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toHalfFloat } from '../../../src/catalog/sample-models/random-weights.js';
import { writeSampleModels } from '../../../src/catalog/sample-models/sample-models.js';
import { sampleVocabulary } from '../../../src/catalog/sample-models/vocabulary.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'llm-tui-samples-'));
});
afterEach(() => rm(directory, { recursive: true }));

const digest = async (path: string): Promise<string> => {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
};

describe('the sample models', () => {
  it('are three files of about 12, 45 and 110 MB, readable as GGUF, in a directory that is made for them', async () => {
    const paths = await writeSampleModels(join(directory, 'not', 'there'));
    expect(paths.map((path) => basename(path))).toEqual([
      'sample-small.gguf',
      'sample-medium.gguf',
      'sample-large.gguf',
    ]);
    const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size / 1e6));
    expect(sizes.map((size) => Math.round(size / 5) * 5)).toEqual([10, 45, 110]);
    const { metadata } = await gguf(paths[0] ?? '', { allowLocalFile: true });
    expect(metadata).toMatchObject({ 'general.architecture': 'llama', 'llama.context_length': 2048 });
  });

  it('are kept when complete, written anew when damaged, and leave nothing else behind', async () => {
    const [small = '', medium = ''] = await writeSampleModels(directory);
    const before = await digest(small);
    const longAgo = new Date('2020-01-01');
    await utimes(medium, longAgo, longAgo);
    await truncate(small, 1_000_000);
    await writeSampleModels(directory);
    expect(await digest(small)).toBe(before);
    expect((await stat(medium)).mtime).toEqual(longAgo);
    expect(await readdir(directory)).toHaveLength(3);
  });

  it('can be written by several at once', async () => {
    const all = await Promise.all([writeSampleModels(directory), writeSampleModels(directory)]);
    expect(all[0]).toEqual(all[1]);
    expect(await readdir(directory)).toHaveLength(3);
  });

  it('have a vocabulary without doubles in which every word can be built piece by piece', () => {
    const { tokens, scores, types, biases } = sampleVocabulary();
    const known = new Set(tokens);
    expect(known.size).toBe(tokens.length);
    expect([scores.length, types.length, biases.length]).toEqual([tokens.length, tokens.length, tokens.length]);
    for (const token of tokens.filter((text) => text.startsWith('\u2581') && text.length > 1)) {
      expect(known).toContain(token.slice(0, -1));
    }
  });
});

describe('half-precision floats', () => {
  it.each([
    [0, 0x0000],
    [1, 0x3c00],
    [-2, 0xc000],
    [0.5, 0x3800],
    [65504, 0x7bff],
    [1e-9, 0x0000],
  ])('encode %d', (value, bits) => {
    expect(toHalfFloat(value)).toBe(bits);
  });
});
