import { randomUUID } from 'node:crypto';
import type { GenerationResult } from './generate.js';

/** One answer in OpenAI's shapes: whole, or as the chunks of a stream. */
export interface AnswerShape {
  whole(text: string, result: GenerationResult): object;
  /** What comes before any text, or null. */
  first(): object | null;
  chunk(text: string): object;
  last(result: GenerationResult): object;
  /** The chunk that only tells the usage, for `stream_options.include_usage`. */
  usage(result: GenerationResult): object;
}

export function createAnswerShape(kind: 'chat' | 'text', model: string): AnswerShape {
  const chat = kind === 'chat';
  const base = {
    id: `${chat ? 'chatcmpl' : 'cmpl'}-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model,
  };
  const wholeObject = chat ? 'chat.completion' : 'text_completion';
  const chunkObject = chat ? 'chat.completion.chunk' : 'text_completion';
  const chunk = (part: object, finish: string | null): object => ({
    ...base,
    object: chunkObject,
    choices: [{ index: 0, ...part, logprobs: null, finish_reason: finish }],
  });
  return {
    whole: (text, result) => ({
      ...base,
      object: wholeObject,
      choices: [
        {
          index: 0,
          ...(chat ? { message: { role: 'assistant', content: text } } : { text }),
          logprobs: null,
          finish_reason: result.finish,
        },
      ],
      usage: usageOf(result),
      timings: timingsOf(result),
    }),
    first: () => (chat ? chunk({ delta: { role: 'assistant', content: '' } }, null) : null),
    chunk: (text) => chunk(chat ? { delta: { content: text } } : { text }, null),
    last: (result) => ({ ...chunk(chat ? { delta: {} } : { text: '' }, result.finish), timings: timingsOf(result) }),
    usage: (result) => ({ ...base, object: chunkObject, choices: [], usage: usageOf(result) }),
  };
}

function usageOf({ promptTokens, cachedTokens, generatedTokens }: GenerationResult): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: generatedTokens,
    total_tokens: promptTokens + generatedTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}

/** llama-server's names and units: milliseconds, and tokens per second. */
function timingsOf(result: GenerationResult): object {
  const evaluated = result.promptTokens - result.cachedTokens;
  return {
    cache_n: result.cachedTokens,
    prompt_n: evaluated,
    prompt_ms: result.promptMillis,
    prompt_per_token_ms: ratio(result.promptMillis, evaluated),
    prompt_per_second: ratio(evaluated * 1000, result.promptMillis),
    predicted_n: result.generatedTokens,
    predicted_ms: result.generationMillis,
    predicted_per_token_ms: ratio(result.generationMillis, result.generatedTokens),
    predicted_per_second: ratio(result.generatedTokens * 1000, result.generationMillis),
  };
}

function ratio(value: number, by: number): number {
  return by > 0 ? value / by : 0;
}
