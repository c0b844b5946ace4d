/** Sequences that generate at once, unless `--parallel` says otherwise. */
export const DEFAULT_PARALLEL = 4;
/** Longest context that is taken without being asked for: a model trained for more would take memory nobody wanted. */
const DEFAULT_CONTEXT_TOKENS = 4096;

/**
 * Tokens of context of each sequence: as asked; all that the model was trained for when 0 was asked; else that,
 * but at most 4096. Unlike llama-server's, `--ctx-size` is not divided among the sequences.
 */
export function contextTokensFor(asked: number | null, trained: number | null): number {
  if (asked === 0) return trained ?? DEFAULT_CONTEXT_TOKENS;
  return asked ?? Math.min(trained ?? DEFAULT_CONTEXT_TOKENS, DEFAULT_CONTEXT_TOKENS);
}
