/** How much an answer took so far: of one choice, or of all together. */
export interface Timing {
  readonly promptTokens: number;
  /** Of the prompt, taken over from what was in the sequence before. */
  readonly cachedTokens: number;
  readonly generatedTokens: number;
  /** From the first sequence to the first token. */
  readonly promptMillis: number;
  /** From the first token to the last. */
  readonly generationMillis: number;
}

/** OpenAI's count of tokens. The prompt counts once, however many choices there are. */
export function describeUsage({ promptTokens, cachedTokens, generatedTokens }: Timing): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: generatedTokens,
    total_tokens: promptTokens + generatedTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}

/** llama-server's names and units: milliseconds, and tokens per second. */
export function describeTimings(timing: Timing): object {
  const evaluated = timing.promptTokens - timing.cachedTokens;
  return {
    cache_n: timing.cachedTokens,
    prompt_n: evaluated,
    prompt_ms: timing.promptMillis,
    prompt_per_token_ms: ratio(timing.promptMillis, evaluated),
    prompt_per_second: ratio(evaluated * 1000, timing.promptMillis),
    predicted_n: timing.generatedTokens,
    predicted_ms: timing.generationMillis,
    predicted_per_token_ms: ratio(timing.generationMillis, timing.generatedTokens),
    predicted_per_second: ratio(timing.generatedTokens * 1000, timing.generationMillis),
  };
}

function ratio(value: number, by: number): number {
  return by > 0 ? value / by : 0;
}
