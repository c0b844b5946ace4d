import type { Bytes } from '../../scheduler/units.js';
import type { GgufContent, GgufTensor, GgufValue } from './gguf-writer.js';
import { createRandomWeights, toHalfFloat, type RandomWeights } from './random-weights.js';
import { CHAT_TEMPLATE, sampleVocabulary, type Vocabulary } from './vocabulary.js';

export interface ModelShape {
  readonly name: string;
  /** About how large the file becomes; the feed-forward width follows from it. */
  readonly sizeBytes: Bytes;
  readonly embedding: number;
  readonly layers: number;
  readonly heads: number;
  readonly keyValueHeads: number;
  readonly seed: number;
}

/** Goes into every header: files of another version are written anew. */
const FORMAT_VERSION = '1';
const CONTEXT_TOKENS = 2048;
const NORM_EPSILON = 1e-5;
/** llama.cpp's number for "mostly f16" in `general.file_type`. */
const FILE_TYPE_F16 = 1;

/**
 * The first component of a hidden state. Every embedding holds this value there and no layer writes to it, so
 * that the output matrix can use it as a bias: the architecture has none of its own.
 */
const CONSTANT_COMPONENT = 4;
/** Spread of the logits before the bias: readable variety at a temperature near 1, a clear winner at 0. */
const LOGIT_DEVIATION = 2;

/** A llama-architecture model of the given shape with random weights; the same shape always gives the same bytes. */
export function describeModel(shape: ModelShape): GgufContent {
  const vocabulary = sampleVocabulary();
  const feedForward = feedForwardWidth(shape, vocabulary);
  return {
    metadata: describeMetadata(shape, vocabulary, feedForward),
    tensors: describeTensors(shape, vocabulary, feedForward, createRandomWeights(shape.seed)),
  };
}

function feedForwardWidth(shape: ModelShape, vocabulary: Vocabulary): number {
  const { embedding, heads, keyValueHeads, layers } = shape;
  const weights = shape.sizeBytes / 2 - 2 * embedding * vocabulary.tokens.length;
  const attention = 2 * embedding * embedding + 2 * embedding * (embedding / heads) * keyValueHeads;
  return Math.max(32, Math.round((weights / layers - attention) / (3 * embedding) / 32) * 32);
}

function describeMetadata(
  shape: ModelShape,
  vocabulary: Vocabulary,
  feedForward: number,
): Readonly<Record<string, GgufValue>> {
  const count = (value: number): GgufValue => ({ type: 'uint32', value });
  const text = (value: string): GgufValue => ({ type: 'string', value });
  return {
    'general.architecture': text('llama'),
    'general.name': text(shape.name),
    'general.description': text('Random weights: it talks nonsense'),
    'general.version': text(FORMAT_VERSION),
    'general.file_type': count(FILE_TYPE_F16),
    'llama.vocab_size': count(vocabulary.tokens.length),
    'llama.context_length': count(CONTEXT_TOKENS),
    'llama.embedding_length': count(shape.embedding),
    'llama.block_count': count(shape.layers),
    'llama.feed_forward_length': count(feedForward),
    'llama.attention.head_count': count(shape.heads),
    'llama.attention.head_count_kv': count(shape.keyValueHeads),
    'llama.attention.layer_norm_rms_epsilon': { type: 'float32', value: NORM_EPSILON },
    'llama.rope.dimension_count': count(shape.embedding / shape.heads),
    'tokenizer.ggml.model': text('llama'),
    'tokenizer.ggml.tokens': { type: 'string[]', value: vocabulary.tokens },
    'tokenizer.ggml.scores': { type: 'float32[]', value: vocabulary.scores },
    'tokenizer.ggml.token_type': { type: 'int32[]', value: vocabulary.types },
    'tokenizer.ggml.bos_token_id': count(vocabulary.beginToken),
    'tokenizer.ggml.eos_token_id': count(vocabulary.endToken),
    'tokenizer.ggml.eot_token_id': count(vocabulary.endOfTurnToken),
    'tokenizer.ggml.unknown_token_id': count(vocabulary.unknownToken),
    'tokenizer.ggml.add_bos_token': { type: 'bool', value: true },
    'tokenizer.chat_template': text(CHAT_TEMPLATE),
  };
}

function describeTensors(
  shape: ModelShape,
  vocabulary: Vocabulary,
  feedForward: number,
  random: RandomWeights,
): readonly GgufTensor[] {
  const { embedding } = shape;
  const keyValue = (embedding / shape.heads) * shape.keyValueHeads;
  const rows = vocabulary.tokens.length;
  const norm = (name: string): GgufTensor => ({ name, dimensions: [embedding], type: 'F32', fill: fillOnes });
  /** Keeps the length of what it is applied to, whatever its input's width is. */
  const matrix = (name: string, input: number, output: number): GgufTensor => ({
    name,
    dimensions: [input, output],
    type: 'F16',
    fill: (data) => random.fill(data, 1 / Math.sqrt(input)),
  });
  /** The same, but nothing is added to the constant component. */
  const residual = (name: string, input: number): GgufTensor => ({
    ...matrix(name, input, embedding),
    fill: (data) => {
      random.fill(data, 1 / Math.sqrt(input));
      data.fill(0, 0, input * 2);
    },
  });

  const tensors: GgufTensor[] = [
    {
      ...matrix('token_embd.weight', embedding, rows),
      fill: (data) => {
        random.fill(data, 1);
        setFirstOfRows(data, embedding, () => CONSTANT_COMPONENT);
      },
    },
    norm('output_norm.weight'),
    {
      ...matrix('output.weight', embedding, rows),
      fill: (data) => {
        random.fill(data, LOGIT_DEVIATION / Math.sqrt(embedding));
        setFirstOfRows(data, embedding, (row) => (vocabulary.biases[row] ?? 0) / (CONSTANT_COMPONENT / 2));
      },
    },
  ];
  for (let layer = 0; layer < shape.layers; layer++) {
    const name = (part: string): string => `blk.${layer}.${part}.weight`;
    tensors.push(
      norm(name('attn_norm')),
      matrix(name('attn_q'), embedding, embedding),
      matrix(name('attn_k'), embedding, keyValue),
      matrix(name('attn_v'), embedding, keyValue),
      residual(name('attn_output'), embedding),
      norm(name('ffn_norm')),
      matrix(name('ffn_gate'), embedding, feedForward),
      matrix(name('ffn_up'), embedding, feedForward),
      residual(name('ffn_down'), feedForward),
    );
  }
  return tensors;
}

function fillOnes(data: Buffer): void {
  for (let offset = 0; offset < data.length; offset += 4) data.writeFloatLE(1, offset);
}

function setFirstOfRows(data: Buffer, width: number, value: (row: number) => number): void {
  for (let row = 0; row * width * 2 < data.length; row++) data.writeUInt16LE(toHalfFloat(value(row)), row * width * 2);
}
