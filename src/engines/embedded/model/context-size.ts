/** Sequences that generate at once where neither they nor the context were asked for. */
const DEFAULT_SEQUENCES = 4;
/** Longest context that is taken without being asked for: a model trained for more would take memory nobody wanted. */
const DEFAULT_CONTEXT_TOKENS = 4096;
/** llama.cpp rounds the context of a sequence up to a multiple of this (`llama_context`, builds of 2026). */
const CONTEXT_STEP_TOKENS = 256;

/** How a context is laid out. What it takes in memory is the product of both. */
export interface ContextPlan {
  /** Requests that are worked on at once. */
  readonly sequences: number;
  /** What one request can use. */
  readonly tokensPerSequence: number;
}

/** What was asked with `--ctx-size` (0: all that the model was trained for), `--parallel` and `--embeddings`. */
export interface ContextRequest {
  readonly contextTokens: number | null;
  readonly parallel: number | null;
  readonly embeddings: boolean;
}

/**
 * The same preset takes the same memory and gives one request the same context as with llama-server. There
 * `--ctx-size` is the total, divided among the slots that `--parallel` asks for; without `--parallel` it is one pool
 * that a single request may fill. node-llama-cpp has no such pool (llama.cpp's `kv_unified`), so that without
 * `--parallel` one sequence has it all and requests take turns. Where neither is given, the choice is free: four
 * sequences, each with what the model was trained for, but at most 4096.
 */
export function planContext(
  { contextTokens, parallel, embeddings }: ContextRequest,
  trained: number | null,
): ContextPlan {
  const usual = Math.min(trained ?? DEFAULT_CONTEXT_TOKENS, DEFAULT_CONTEXT_TOKENS);
  // Texts to embed are evaluated one after another.
  if (contextTokens === null) {
    return { sequences: embeddings ? 1 : (parallel ?? DEFAULT_SEQUENCES), tokensPerSequence: usual };
  }
  const total = contextTokens === 0 ? (trained ?? DEFAULT_CONTEXT_TOKENS) : contextTokens;
  const sequences = embeddings ? 1 : (parallel ?? 1);
  return { sequences, tokensPerSequence: roundUp(Math.floor(roundUp(total) / sequences)) };
}

function roundUp(tokens: number): number {
  return Math.max(1, Math.ceil(tokens / CONTEXT_STEP_TOKENS)) * CONTEXT_STEP_TOKENS;
}
