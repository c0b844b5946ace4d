import { randomUUID } from 'node:crypto';
import type { AnswerShape } from './answer-shape.js';
import { describeTimings, describeUsage } from './timing.js';

/** The answers of `/v1/chat/completions` and `/v1/completions`, with llama-server's timings. */
export function createOpenAiShape(kind: 'chat' | 'text', model: string): AnswerShape {
  const chat = kind === 'chat';
  const base = {
    id: `${chat ? 'chatcmpl' : 'cmpl'}-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model,
  };
  const chunkObject = chat ? 'chat.completion.chunk' : 'text_completion';
  const chunk = (index: number, part: object, finish: string | null): object => ({
    ...base,
    object: chunkObject,
    choices: [{ index, ...part, logprobs: null, finish_reason: finish }],
  });
  return {
    whole: (choices, timing) => ({
      ...base,
      object: chat ? 'chat.completion' : 'text_completion',
      choices: choices.map(({ text, result }, index) => ({
        index,
        ...(chat ? { message: { role: 'assistant', content: text, refusal: null } } : { text }),
        logprobs: null,
        finish_reason: result.finish,
      })),
      usage: describeUsage(timing),
      timings: describeTimings(timing),
    }),
    first: (choice) => (chat ? chunk(choice, { delta: { role: 'assistant', content: '' } }, null) : null),
    everyPiece: false,
    piece: ({ choice, text }, timing) => ({
      ...chunk(choice, chat ? { delta: { content: text } } : { text }, null),
      ...(timing !== null && { timings: describeTimings(timing) }),
    }),
    last: (choice, result, timing) => ({
      ...chunk(choice, chat ? { delta: {} } : { text: '' }, result.finish),
      timings: describeTimings(timing),
    }),
    usage: (timing) => ({ ...base, object: chunkObject, choices: [], usage: describeUsage(timing) }),
    farewell: '[DONE]',
  };
}
