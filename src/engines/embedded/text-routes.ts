import type { ServerResponse } from 'node:http';
import { checkTokens } from './completion-routes.js';
import { withBeginToken } from './chat-template.js';
import { HttpError } from './http-error.js';
import { abortOnDisconnect, sendJson } from './http-io.js';
import { detokenizeSchema, embeddingsSchema, parseBody, templateSchema, tokenizeSchema } from './request-schema.js';
import type { Service } from './service.js';

/** `POST /tokenize` */
export function answerTokenize({ loaded: { model } }: Service, body: unknown, response: ServerResponse): void {
  const request = parseBody(tokenizeSchema, body);
  const plain = model.tokenize(request.content, request.parse_special ?? true);
  const tokens = request.add_special === true ? withBeginToken(model, plain) : plain;
  sendJson(response, 200, {
    tokens: request.with_pieces === true ? tokens.map((id) => ({ id, piece: model.detokenize([id], true) })) : tokens,
  });
}

/** `POST /detokenize` */
export function answerDetokenize(service: Service, body: unknown, response: ServerResponse): void {
  const { tokens } = parseBody(detokenizeSchema, body);
  sendJson(response, 200, { content: service.loaded.model.detokenize(checkTokens(service, tokens)) });
}

/** `POST /apply-template` */
export function answerTemplate(service: Service, body: unknown, response: ServerResponse): void {
  sendJson(response, 200, { prompt: service.template.render(parseBody(templateSchema, body).messages).text });
}

/** `POST /v1/embeddings`: one unit vector for each input. */
export async function answerEmbeddings(service: Service, body: unknown, response: ServerResponse): Promise<void> {
  const { work, contextTokens } = service.loaded;
  if (work.kind !== 'embed') {
    throw new HttpError(501, 'Start this model with --embeddings to compute embeddings.', 'not_supported_error');
  }
  const request = parseBody(embeddingsSchema, body);
  const signal = abortOnDisconnect(response);
  const inputs = readInputs(service, request.input);
  const data: object[] = [];
  let promptTokens = 0;
  for (const [index, input] of inputs.entries()) {
    signal.throwIfAborted();
    const length = work.context.calculateInputLength(input);
    if (length >= contextTokens) {
      const message = `Input ${index} has ${length} tokens, but the context is ${contextTokens} tokens; shorten it.`;
      throw new HttpError(400, message, 'exceed_context_size_error');
    }
    promptTokens += length;
    const vector = toUnitLength((await work.context.getEmbeddingFor(input)).vector);
    const embedding = request.encoding_format === 'base64' ? toBase64(vector) : vector;
    data.push({ object: 'embedding', index, embedding });
  }
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
  sendJson(response, 200, { object: 'list', model: service.args.alias, data, usage });
}

function readInputs(service: Service, input: string | string[] | number[]): ReturnType<typeof checkTokens>[] {
  const { model } = service.loaded;
  if (typeof input === 'string') return [model.tokenize(input)];
  const texts = input.filter((item) => typeof item === 'string');
  if (texts.length > 0) return texts.map((text) => model.tokenize(text));
  return [checkTokens(service, input as number[])];
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
