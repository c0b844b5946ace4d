import { GGMLFileQuantizationType, GGMLQuantizationType } from '@huggingface/gguf';
import type { Bytes } from '../scheduler/units.js';
import type { GgufSummary } from './entry.js';
import type { GgufFacts } from './gguf-worker.js';
import { printable } from './quote.js';

const LONGEST_NAME = 64;
/** Key and value cache at llama-server's default, f16. */
const CACHE_VALUE_BYTES: Bytes = 2;

/** What a header says of its model; null when it does not even name an architecture, so that nothing could load it. */
export function summariseHeader(facts: GgufFacts): GgufSummary | null {
  const architecture = facts.metadata['general.architecture'];
  if (typeof architecture !== 'string' || architecture === '') return null;
  const figure = (key: string): number | null => positive(facts.metadata[`${architecture}.${key}`]);
  const pooling = figure('pooling_type');
  const causal = facts.metadata[`${architecture}.attention.causal`] !== false;
  return {
    architecture: printable(architecture, LONGEST_NAME),
    parameters: facts.parameters > 0 ? facts.parameters : null,
    quantisation: quantisationOf(facts),
    trainedContextTokens: figure('context_length'),
    layers: figure('block_count'),
    hasChatTemplate: facts.hasChatTemplate,
    kvBytesPerToken: causal ? kvBytesPerToken(facts, architecture) : 0,
    isEmbeddingModel: pooling !== null || !causal,
  };
}

/** The file's own word for it, else the type of most of its weights. */
function quantisationOf(facts: GgufFacts): string | null {
  const fileType = facts.metadata['general.file_type'];
  // The enumeration also maps names to numbers, hence the type check on the way back.
  const named: unknown = typeof fileType === 'number' ? GGMLFileQuantizationType[fileType] : undefined;
  if (typeof named === 'string') return named;
  const [most] = Object.entries(facts.parametersByType).sort(([, left], [, right]) => right - left);
  const type: unknown = most === undefined ? undefined : GGMLQuantizationType[Number(most[0])];
  return typeof type === 'string' ? type : null;
}

/**
 * layers × key/value heads × (key length + value length) × 2 bytes. Head counts may be one number or one per layer
 * (0 for layers without a cache). An upper bound for models with sliding windows.
 */
function kvBytesPerToken(facts: GgufFacts, architecture: string): Bytes | null {
  const read = (key: string): unknown => facts.metadata[`${architecture}.${key}`];
  const layers = positive(read('block_count'));
  const heads = read('attention.head_count');
  const kvHeads = sumOverLayers(read('attention.head_count_kv') ?? heads, layers);
  if (layers === null || kvHeads === null || kvHeads === 0) return null;
  const embedding = positive(read('embedding_length'));
  const headCount = Array.isArray(heads) ? positive(Math.max(...(heads as number[]))) : positive(heads);
  const usual = embedding !== null && headCount !== null ? embedding / headCount : null;
  const keyLength = positive(read('attention.key_length')) ?? usual;
  const valueLength = positive(read('attention.value_length')) ?? usual;
  if (keyLength === null || valueLength === null) return null;
  const bytes = Math.round(kvHeads * (keyLength + valueLength) * CACHE_VALUE_BYTES);
  return Number.isSafeInteger(bytes) ? bytes : null;
}

function sumOverLayers(heads: unknown, layers: number | null): number | null {
  if (Array.isArray(heads)) {
    const list = heads as number[];
    return list.every((count) => Number.isSafeInteger(count) && count >= 0)
      ? list.reduce((sum, count) => sum + count, 0)
      : null;
  }
  const count = positive(heads);
  return count === null || layers === null ? null : count * layers;
}

function positive(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}
