/** What a child has done since it was started, also for answers that were not wanted to the end. */
export interface Counters {
  /** Requests that were answered in full. */
  requests: number;
  /** Prompt tokens that were evaluated. */
  promptTokens: number;
  promptMillis: number;
  generatedTokens: number;
  generationMillis: number;
  /** Most tokens of context that one request has used. */
  mostContextTokens: number;
}

export function createCounters(): Counters {
  return {
    requests: 0,
    promptTokens: 0,
    promptMillis: 0,
    generatedTokens: 0,
    generationMillis: 0,
    mostContextTokens: 0,
  };
}
