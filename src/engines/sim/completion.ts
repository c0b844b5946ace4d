import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SimSettings } from './options.js';
import { countTokens, isObject, readPrompt, simulatedTokens } from './reply.js';

export type Shape = 'chat' | 'text';
type Body = Readonly<Record<string, unknown>>;

const DEFAULT_TOKENS = 48;

let answers = 0;

/**
 * Answers a completion request in OpenAI's shape, one token at a time, as a stream of events or as one body.
 * It stops at the next token once the connection has ended: by its client, or by the router for an operator.
 */
export async function complete(
  response: ServerResponse,
  settings: SimSettings,
  shape: Shape,
  body: Body,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const prompt = readPrompt(body);
  const limit = readLimit(body);
  const tokens = simulatedTokens(settings.alias, prompt, limit ?? DEFAULT_TOKENS);
  const base = {
    id: `${shape === 'chat' ? 'chatcmpl' : 'cmpl'}-sim-${process.pid}-${++answers}`,
    created: Math.floor(Date.now() / 1000),
    model: settings.alias,
    system_fingerprint: 'simulated',
  };
  const finish = limit === null ? 'stop' : 'length';
  const started = performance.now();
  const closing = () => ({
    usage: readUsage(prompt, tokens.length),
    timings: readTimings(prompt, tokens.length, performance.now() - started),
  });
  const pause = 1000 / settings.tokensPerSecond;
  try {
    if (body['stream'] !== true) {
      await sleep(pause * tokens.length, undefined, { signal: gone.signal });
      const object = shape === 'chat' ? 'chat.completion' : 'text_completion';
      const whole = { ...base, object, choices: [wholeChoice(shape, tokens.join(''), finish)], ...closing() };
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(whole));
      return;
    }
    const object = shape === 'chat' ? 'chat.completion.chunk' : 'text_completion';
    const send = async (choices: readonly object[], extra: object = {}): Promise<void> => {
      const event = `data: ${JSON.stringify({ ...base, object, choices, ...extra })}\n\n`;
      if (!response.write(event)) await once(response, 'drain', { signal: gone.signal });
    };
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    if (shape === 'chat') await send([{ index: 0, delta: { role: 'assistant', content: null }, finish_reason: null }]);
    for (const token of tokens) {
      await sleep(pause, undefined, { signal: gone.signal });
      await send([pieceChoice(shape, token)]);
    }
    const last = closing();
    await send([endChoice(shape, finish)], { timings: last.timings });
    const options: unknown = body['stream_options'];
    if (isObject(options) && options['include_usage'] === true) await send([], last);
    response.end('data: [DONE]\n\n');
  } catch (error) {
    if (!gone.signal.aborted) throw error;
    console.log(`${base.id}: cut off, the rest of the answer is not wanted`);
  }
}

function wholeChoice(shape: Shape, text: string, finish: string): object {
  return shape === 'chat'
    ? { index: 0, message: { role: 'assistant', content: text }, finish_reason: finish }
    : { index: 0, text, logprobs: null, finish_reason: finish };
}

function pieceChoice(shape: Shape, text: string): object {
  return shape === 'chat'
    ? { index: 0, delta: { content: text }, finish_reason: null }
    : { index: 0, text, logprobs: null, finish_reason: null };
}

function endChoice(shape: Shape, finish: string): object {
  return shape === 'chat'
    ? { index: 0, delta: {}, finish_reason: finish }
    : { index: 0, text: '', logprobs: null, finish_reason: finish };
}

function readLimit(body: Body): number | null {
  const limit = body['max_completion_tokens'] ?? body['max_tokens'] ?? body['n_predict'];
  return typeof limit === 'number' && Number.isInteger(limit) && limit >= 0 ? Math.min(limit, 100_000) : null;
}

function readUsage(prompt: string, completion: number): object {
  const tokens = countTokens(prompt);
  return { prompt_tokens: tokens, completion_tokens: completion, total_tokens: tokens + completion };
}

/** As llama-server reports it, in milliseconds. */
function readTimings(prompt: string, completion: number, millis: number): object {
  return {
    prompt_n: countTokens(prompt),
    predicted_n: completion,
    predicted_ms: millis,
    predicted_per_second: millis > 0 ? (completion * 1000) / millis : 0,
  };
}
