import { randomUUID } from 'node:crypto';
import type { AnswerShape, FinishedChoice } from './answer-shape.js';
import type { Piece } from '../generation/generate.js';
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
      choices: choices.map(({ text, calls, result }, index) => ({
        index,
        ...(chat ? { message: message(text, calls) } : { text }),
        logprobs: null,
        finish_reason: result.finish,
      })),
      usage: describeUsage(timing),
      timings: describeTimings(timing),
    }),
    first: (choice) => (chat ? chunk(choice, { delta: { role: 'assistant', content: '' } }, null) : null),
    everyPiece: false,
    piece: (piece, timing) => ({
      ...chunk(piece.choice, chat ? { delta: delta(piece) } : { text: piece.text }, null),
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

function message(text: string, calls: FinishedChoice['calls']): object {
  const plain = { role: 'assistant', content: calls.length > 0 && text === '' ? null : text, refusal: null };
  if (calls.length === 0) return plain;
  return { ...plain, tool_calls: calls.map((call) => ({ id: callId(), type: 'function', function: { ...call } })) };
}

function delta({ text, calls }: Piece): object {
  if (calls.length === 0) return { content: text };
  return {
    ...(text !== '' && { content: text }),
    tool_calls: calls.map(({ index, name, arguments: piece }) => ({
      index,
      ...(name !== null && { id: callId(), type: 'function' }),
      function: { ...(name !== null && { name }), arguments: piece },
    })),
  };
}

function callId(): string {
  return `call_${randomUUID().replaceAll('-', '')}`;
}
