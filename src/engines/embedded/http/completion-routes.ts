import type { ServerResponse } from 'node:http';
import type { Token } from 'node-llama-cpp';
import type { AnswerShape, FinishedCall, FinishedChoice } from './answer-shape.js';
import { withBeginToken } from '../generation/chat-template.js';
import { generate, type ChoiceListener } from '../generation/choices.js';
import type { GenerationFields } from './generation-fields.js';
import type { GenerationRequest } from '../generation/generate.js';
import type { CallPiece } from '../tools/call-reader.js';
import { allowCalls, enforceable } from '../tools/call-grammar.js';
import { planCalls } from '../tools/call-plan.js';
import { readTools } from '../tools/tool-request.js';
import { errorBody } from './http-error.js';
import { abortOnDisconnect, createEventStream, sendJson } from './http-io.js';
import { refuseTooLong } from './length-check.js';
import { textsOf } from './messages.js';
import { createLlamaShape } from './llama-shape.js';
import { createOpenAiShape } from './openai-shape.js';
import { chatSchema, completionSchema, parseBody, type CompletionRequest } from './request-schema.js';
import { readSampling } from '../generation/sampling.js';
import { requireGenerating, type ActiveModel, type Service } from '../service.js';
import type { Timing } from './timing.js';
import { checkTokens } from './token-check.js';

/** `POST /v1/chat/completions` */
export async function answerChat(service: Service, body: unknown, response: ServerResponse): Promise<void> {
  const fields = parseBody(chatSchema, body);
  const offered = readTools(fields);
  refuseTooLong(service, textsOf(fields.messages, offered?.shown));
  const asked = readSampling(fields, service.args.defaults);
  const tools = offered === null ? null : enforceable(offered, fields);
  await answer(service, fields, response, ({ template, loaded: { model } }) => {
    const chat = template.render(fields, tools?.shown ?? []);
    const calls = planCalls(model, chat, tools);
    const { grammar } = asked;
    const sampling =
      calls === null || grammar === null
        ? asked
        : { ...asked, grammar: { ...grammar, text: allowCalls(grammar.text, calls) } };
    const prompt = calls?.begun === true ? [...chat.tokens, ...calls.open] : chat.tokens;
    const stopStrings = [...sampling.stop, ...chat.stopStrings];
    return {
      request: { prompt, sampling, stopTokens: chat.stopTokens, stopStrings, calls },
      shape: createOpenAiShape('chat', service.args.alias),
    };
  });
}

/** `POST /v1/completions` */
export async function answerCompletion(service: Service, body: unknown, response: ServerResponse): Promise<void> {
  await answerText(service, body, response, () => createOpenAiShape('text', service.args.alias));
}

/** `POST /completion`: the same in llama-server's own shape. */
export async function answerLlamaCompletion(service: Service, body: unknown, response: ServerResponse): Promise<void> {
  await answerText(service, body, response, (fields, request, { loaded: { model } }) =>
    createLlamaShape({
      model: service.args.alias,
      prompt: typeof fields.prompt === 'string' ? fields.prompt : model.detokenize(request.prompt, true),
      request,
      returnTokens: fields.return_tokens ?? false,
    }),
  );
}

async function answerText(
  service: Service,
  body: unknown,
  response: ServerResponse,
  createShape: (fields: CompletionRequest, request: GenerationRequest, model: ActiveModel) => AnswerShape,
): Promise<void> {
  const fields = parseBody(completionSchema, body);
  refuseTooLong(
    service,
    [fields.prompt].flat().filter((part) => typeof part === 'string'),
  );
  const sampling = readSampling(fields, service.args.defaults);
  await answer(service, fields, response, (active) => {
    const prompt = tokenizePrompt(active, fields.prompt);
    const request = { prompt, sampling, stopTokens: new Set<Token>(), stopStrings: sampling.stop, calls: null };
    return { request, shape: createShape(fields, request, active) };
  });
}

/** @param prepare is called with the model in memory */
async function answer(
  service: Service,
  fields: GenerationFields,
  response: ServerResponse,
  prepare: (model: ActiveModel) => { readonly request: GenerationRequest; readonly shape: AnswerShape },
): Promise<void> {
  requireGenerating(service);
  const signal = abortOnDisconnect(response);
  await service.residency.use(signal, async (active) => {
    const { generator } = active;
    if (generator === null) return;
    const { request, shape } = prepare(active);
    const run: Run = (listener) => generate(generator, request, signal, listener);
    if (fields.stream === true) await answerStreaming(fields, shape, response, signal, run);
    else sendJson(response, 200, await answerWhole(shape, request.sampling.choices, run));
  });
}

type Run = (listener: ChoiceListener) => Promise<Timing>;

async function answerWhole(shape: AnswerShape, choices: number, run: Run): Promise<object> {
  const texts = Array.from({ length: choices }, () => ({
    text: '',
    calls: [] as FinishedCall[],
    tokens: [] as number[],
  }));
  const finished: FinishedChoice[] = [];
  const timing = await run({
    onPiece({ choice, text, calls, token }) {
      const parts = texts[choice];
      if (parts !== undefined) {
        parts.text += text;
        addCalls(parts.calls, calls);
        if (token !== null) parts.tokens.push(token);
      }
      return Promise.resolve();
    },
    onEnd(choice, result, ofChoice) {
      const { text = '', calls = [], tokens = [] } = texts[choice] ?? {};
      finished[choice] = { text, calls, tokens, result, timing: ofChoice };
      return Promise.resolve();
    },
  });
  return shape.whole(finished, timing);
}

function addCalls(calls: FinishedCall[], pieces: readonly CallPiece[]): void {
  for (const { index, name, arguments: piece } of pieces) {
    const call = calls[index] ?? { name: name ?? '', arguments: '' };
    calls[index] = { ...call, arguments: call.arguments + piece };
  }
}

async function answerStreaming(
  fields: GenerationFields,
  shape: AnswerShape,
  response: ServerResponse,
  signal: AbortSignal,
  run: Run,
): Promise<void> {
  const stream = createEventStream(response, signal);
  const begun = new Set<number>();
  const begin = async (choice: number): Promise<void> => {
    if (begun.has(choice)) return;
    begun.add(choice);
    const first = shape.first(choice);
    if (first !== null) await stream.send(first);
  };
  try {
    const timing = await run({
      async onPiece(piece, timingSoFar) {
        if (piece.text === '' && piece.calls.length === 0 && !shape.everyPiece) return;
        await begin(piece.choice);
        await stream.send(shape.piece(piece, fields.timings_per_token === true ? timingSoFar() : null));
      },
      async onEnd(choice, result, ofChoice) {
        await begin(choice);
        await stream.send(shape.last(choice, result, ofChoice));
      },
    });
    const usage = fields.stream_options?.include_usage === true ? shape.usage(timing) : null;
    if (usage !== null) await stream.send(usage);
    stream.end(shape.farewell ?? undefined);
  } catch (error) {
    if (!stream.begun || signal.aborted) throw error;
    await stream.send(errorBody(error));
    stream.end();
  }
}

function tokenizePrompt({ loaded }: ActiveModel, prompt: CompletionRequest['prompt']): readonly Token[] {
  const { model } = loaded;
  const [first] = prompt;
  if (typeof prompt === 'string' || typeof first === 'string') {
    return withBeginToken(model, model.tokenize(typeof prompt === 'string' ? prompt : String(first), true));
  }
  return checkTokens(model, prompt as number[]);
}
