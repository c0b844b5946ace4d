import { totalmem } from 'node:os';
import type { LlamaModel } from 'node-llama-cpp';
import type { ContextPlan } from './context-size.js';
import { ChildFailure } from '../failure.js';

/** Bookkeeping of llama.cpp for each token of context, besides what the token itself takes there. */
const CELL_BYTES = 64;

/**
 * The library finds out what a context needs by a trial that itself takes memory for each token, tens of gigabytes
 * for absurd sizes; those are refused before. Throws ChildFailure (`out-of-memory`).
 */
export function checkContextSize(model: LlamaModel, plan: ContextPlan, onHost: boolean): void {
  const tokens = plan.tokensPerSequence * plan.sequences;
  const need = tokens * (CELL_BYTES + (onHost ? cacheBytesPerToken(model) : 0));
  if (need <= totalmem()) return;
  throw new ChildFailure('out-of-memory', `A context of ${tokens} tokens in all is larger than system memory.`, {
    device: 'Host',
    askedBytes: Math.round(need),
  });
}

/** Keys and values at 16 bits; 0 where not every layer keeps every token, or the header does not tell. */
function cacheBytesPerToken({ fileInsights, fileInfo }: LlamaModel): number {
  const { attention, embedding_length: width, block_count: layers } = fileInfo.architectureMetadata;
  const heads = attention?.head_count;
  const cacheHeads = attention?.head_count_kv ?? heads;
  if (fileInsights.swaSize || fileInsights.isRecurrent) return 0;
  if (typeof heads !== 'number' || typeof cacheHeads !== 'number' || !width || !layers) return 0;
  const perHead = attention?.key_length ?? width / heads;
  return layers * cacheHeads * perHead * 2 * 2;
}
