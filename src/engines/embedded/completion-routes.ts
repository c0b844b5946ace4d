import type { ServerResponse } from 'node:http';
import type { Token } from 'node-llama-cpp';
import { createAnswerShape } from './answers.js';
import { withBeginToken } from './chat-template.js';
import { generate, type GenerationRequest, type GenerationResult } from './generate.js';
import { errorBody, HttpError } from './http-error.js';
import { abortOnDisconnect, createEventStream, sendJson } from './http-io.js';
import { chatSchema, completionSchema, parseBody, type GenerationFields } from './request-schema.js';
import { readSampling } from './sampling.js';
import { requireGenerator, type Service } from './service.js';

/** `POST /v1/chat/completions` */
export async function answerChat(service: Service, body: unknown, response: ServerResponse): Promise<void> {
  const request = parseBody(chatSchema, body);
  const sampling = readSampling(request, service.args.defaults);
  requireGenerator(service);
  const chat = service.template.render(request.messages);
  const { stopTokens } = chat;
  const stopStrings = [...sampling.stop, ...chat.stopStrings];
  await answer(service, 'chat', request, { prompt: chat.tokens, sampling, stopTokens, stopStrings }, response);
}

/** `POST /v1/completions` */
export async function answerCompletion(service: Service, body: unknown, response: ServerResponse): Promise<void> {
  const request = parseBody(completionSchema, body);
  const sampling = readSampling(request, service.args.defaults);
  const prompt = tokenizePrompt(service, request.prompt);
  await answer(
    service,
    'text',
    request,
    { prompt, sampling, stopTokens: new Set(), stopStrings: sampling.stop },
    response,
  );
}

async function answer(
  service: Service,
  kind: 'chat' | 'text',
  fields: GenerationFields,
  request: GenerationRequest,
  response: ServerResponse,
): Promise<void> {
  const generator = requireGenerator(service);
  const shape = createAnswerShape(kind, service.args.alias);
  const signal = abortOnDisconnect(response);
  if (fields.stream !== true) {
    let text = '';
    const result = await generate(generator, request, signal, (part) => {
      text += part;
      return Promise.resolve();
    });
    count(service, result);
    sendJson(response, 200, shape.whole(text, result));
    return;
  }

  const stream = createEventStream(response, signal);
  const first = shape.first();
  try {
    const result = await generate(generator, request, signal, async (part) => {
      if (!stream.begun && first !== null) await stream.send(first);
      await stream.send(shape.chunk(part));
    });
    count(service, result);
    if (!stream.begun && first !== null) await stream.send(first);
    await stream.send(shape.last(result));
    if (fields.stream_options?.include_usage === true) await stream.send(shape.usage(result));
    stream.end('[DONE]');
  } catch (error) {
    if (!stream.begun || signal.aborted) throw error;
    await stream.send(errorBody(error));
    stream.end();
  }
}

function tokenizePrompt(service: Service, prompt: string | [string] | number[]): readonly Token[] {
  const { model } = service.loaded;
  const [first] = prompt;
  if (typeof prompt === 'string' || typeof first === 'string') {
    return withBeginToken(model, model.tokenize(typeof prompt === 'string' ? prompt : String(first), true));
  }
  return checkTokens(service, prompt as number[]);
}

/** A number that is no token of the model would crash llama.cpp. Throws HttpError 400. */
export function checkTokens({ loaded }: Service, tokens: readonly number[]): Token[] {
  const { tokens: vocabulary } = loaded.model.fileInfo.metadata.tokenizer.ggml;
  const bad = tokens.find((token) => token >= vocabulary.length);
  if (bad !== undefined) throw new HttpError(400, `${bad} is not a token: the model has ${vocabulary.length} of them.`);
  return tokens as Token[];
}

function count({ counters }: Service, result: GenerationResult): void {
  counters.requests += 1;
  counters.promptTokens += result.promptTokens - result.cachedTokens;
  counters.promptMillis += result.promptMillis;
  counters.generatedTokens += result.generatedTokens;
  counters.generationMillis += result.generationMillis;
}
