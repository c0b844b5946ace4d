import type { ServerResponse } from 'node:http';
import type { LlamaModel, Token } from 'node-llama-cpp';
import { findUnsupportedField } from '../capability-notes.js';
import { HttpError } from './http-error.js';
import { abortOnDisconnect, sendJson } from './http-io.js';
import { refuseTooLong } from './length-check.js';
import { embeddingsSchema, parseBody, type EmbeddingsRequest } from './request-schema.js';
import type { Service } from '../service.js';
import { checkTokens } from './token-check.js';

/** `POST /v1/embeddings`: one unit vector for each input. */
export async function answerEmbeddings(service: Service, body: unknown, response: ServerResponse): Promise<void> {
  if (!service.args.embeddings) {
    throw new HttpError(501, 'Start this model with --embeddings to compute embeddings.', 'not_supported_error');
  }
  const request = parseBody(embeddingsSchema, body);
  const unsupported = findUnsupportedField(request);
  if (unsupported !== null) throw new HttpError(400, unsupported);
  for (const text of [request.input].flat()) if (typeof text === 'string') refuseTooLong(service, [text]);
  const signal = abortOnDisconnect(response);
  await service.residency.use(signal, async ({ loaded: { model, work, contextTokens } }) => {
    if (work.kind !== 'embed') return;
    const inputs = readInputs(model, request.input);
    const lengths = inputs.map((input) => work.context.calculateInputLength(input));
    const long = lengths.findIndex((length) => length >= contextTokens);
    if (long >= 0) {
      const message = `Input ${long} has ${lengths[long]} tokens, but the context is ${contextTokens} tokens; shorten it.`;
      throw new HttpError(400, message, 'exceed_context_size_error');
    }
    const data: object[] = [];
    for (const [index, input] of inputs.entries()) {
      signal.throwIfAborted();
      const startedAt = performance.now();
      const vector = toUnitLength((await work.context.getEmbeddingFor(input)).vector);
      service.counters.promptMillis += performance.now() - startedAt;
      service.counters.promptTokens += lengths[index] ?? 0;
      const embedding = request.encoding_format === 'base64' ? toBase64(vector) : vector;
      data.push({ object: 'embedding', index, embedding });
    }
    service.counters.requests += 1;
    const tokens = lengths.reduce((sum, length) => sum + length, 0);
    const usage = { prompt_tokens: tokens, total_tokens: tokens };
    sendJson(response, 200, { object: 'list', model: service.args.alias, data, usage });
  });
}

function readInputs(model: LlamaModel, input: EmbeddingsRequest['input']): readonly Token[][] {
  if (typeof input === 'string') return [model.tokenize(input)];
  const [first] = input;
  if (typeof first === 'number') return [checkTokens(model, input as number[])];
  return (input as (string | number[])[]).map((item) =>
    typeof item === 'string' ? model.tokenize(item) : checkTokens(model, item),
  );
}

function toUnitLength(vector: readonly number[]): readonly number[] {
  const length = Math.hypot(...vector);
  return length > 0 ? vector.map((value) => value / length) : vector;
}

/** Little-endian 32-bit floats, as OpenAI's clients expect them. */
function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString('base64');
}
