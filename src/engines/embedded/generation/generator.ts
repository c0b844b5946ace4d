import type { LlamaModel } from 'node-llama-cpp';
import type { Counters } from './counters.js';
import type { LoadedModel } from '../model/load-model.js';
import { createSequencePool, type SequencePool } from './sequence-pool.js';
import { createTurnstile, type Turnstile } from './turnstile.js';

/** A loaded model at work on several requests at once. */
export interface Generator {
  readonly loaded: LoadedModel;
  readonly model: LlamaModel;
  readonly pool: SequencePool;
  readonly turnstile: Turnstile;
  readonly counters: Counters;
  /** Of each sequence. */
  readonly contextTokens: number;
  /** Prompt tokens that are evaluated before it is looked whether the client is still there. */
  readonly batchTokens: number;
}

/** Null for a model that was loaded for embeddings. */
export function createGenerator(loaded: LoadedModel, counters: Counters): Generator | null {
  const { work, plan, model, contextTokens } = loaded;
  if (work.kind === 'embed') return null;
  const sequences = Array.from({ length: plan.sequences }, () => work.context.getSequence());
  return {
    loaded,
    model,
    pool: createSequencePool(sequences),
    turnstile: createTurnstile(),
    counters,
    contextTokens,
    batchTokens: work.context.batchSize,
  };
}
