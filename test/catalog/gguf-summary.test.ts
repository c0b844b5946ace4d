import { describe, expect, test } from 'vitest';
import { summariseHeader } from '../../src/catalog/gguf-summary.js';
import type { GgufFacts } from '../../src/catalog/gguf-worker.js';

const llama = {
  'general.architecture': 'llama',
  'general.file_type': 15,
  'llama.context_length': 8192,
  'llama.block_count': 32,
  'llama.embedding_length': 4096,
  'llama.attention.head_count': 32,
  'llama.attention.head_count_kv': 8,
};

function facts(metadata: GgufFacts['metadata'], rest: Partial<GgufFacts> = {}): GgufFacts {
  return {
    metadata,
    parameters: 10,
    parametersByType: { 0: 4, 12: 6 },
    hasChatTemplate: false,
    neededBytes: 1,
    ...rest,
  };
}

test('a header is shown as its file says', () => {
  expect(summariseHeader(facts(llama, { parameters: 8_030_261_312, hasChatTemplate: true }))).toEqual({
    architecture: 'llama',
    parameters: 8_030_261_312,
    quantisation: 'Q4_K_M',
    trainedContextTokens: 8192,
    layers: 32,
    hasChatTemplate: true,
    // The 128 KiB per token of Llama 3 8B.
    kvBytesPerToken: 131_072,
    isEmbeddingModel: false,
  });
});

describe('the cache of one token', () => {
  test.each([
    [
      'heads of their own length',
      { 'llama.attention.key_length': 256, 'llama.attention.value_length': 64 },
      32 * 8 * 320 * 2,
    ],
    ['a head count for each layer', { 'llama.attention.head_count_kv': [0, 8, 0, 4] }, 12 * 256 * 2],
    [
      'head counts for each layer on both sides',
      { 'llama.attention.head_count': [0, 32], 'llama.attention.head_count_kv': [0, 8] },
      8 * 256 * 2,
    ],
    ['as many key/value heads as heads', { 'llama.attention.head_count_kv': '' }, 32 * 32 * 256 * 2],
    ['no cache in a model that is not causal', { 'llama.attention.causal': false }, 0],
    ['layers unknown', { 'llama.block_count': '' }, null],
    ['nothing but layers without a cache', { 'llama.attention.head_count_kv': [0, 0] }, null],
    ['a count that is none', { 'llama.attention.head_count_kv': [8, -8] }, null],
    ['figures too large to multiply', { 'llama.block_count': 2 ** 50 }, null],
  ])('%s', (_title, change, expected) => {
    const metadata = Object.fromEntries(Object.entries({ ...llama, ...change }).filter(([, value]) => value !== ''));
    expect(summariseHeader(facts(metadata))?.kvBytesPerToken).toBe(expected);
  });
});

test.each([
  ['mean pooling', { 'llama.pooling_type': 1 }, true],
  ['no pooling', { 'llama.pooling_type': 0 }, false],
  ['attention both ways', { 'llama.attention.causal': false }, true],
])('%s tells an embedding model: %j', (_title, change, expected) => {
  expect(summariseHeader(facts({ ...llama, ...change }))?.isEmbeddingModel).toBe(expected);
});

test.each([
  ['the word of the file', 7, 'Q8_0'],
  ['the type of most weights where the file has no word', null, 'Q4_K'],
  ['the type of most weights where the word is unknown', 9999, 'Q4_K'],
])('quantisation is %s', (_title, fileType, expected) => {
  const { 'general.file_type': _, ...others } = llama;
  const metadata = fileType === null ? others : { ...others, 'general.file_type': fileType };
  expect(summariseHeader(facts(metadata))?.quantisation).toBe(expected);
});

test('what the file does not say is null, and a file without an architecture is no model', () => {
  expect(summariseHeader(facts({ 'general.architecture': 'x' }, { parameters: 0, parametersByType: {} }))).toEqual({
    architecture: 'x',
    parameters: null,
    quantisation: null,
    trainedContextTokens: null,
    layers: null,
    hasChatTemplate: false,
    kvBytesPerToken: null,
    isEmbeddingModel: false,
  });
  expect(summariseHeader(facts({}))).toBeNull();
  expect(summariseHeader(facts({ 'general.architecture': 3 }))).toBeNull();
});
