import type { ChildArguments } from './arguments.js';
import { createChatTemplate, type ChatTemplate } from './chat-template.js';
import type { Generator } from './generate.js';
import { HttpError } from './http-error.js';
import type { LoadedModel } from './load-model.js';
import { createSequencePool } from './sequence-pool.js';
import { createTurnstile } from './turnstile.js';

/** Everything that requests need of a loaded model. */
export interface Service {
  readonly args: ChildArguments;
  readonly loaded: LoadedModel;
  readonly template: ChatTemplate;
  /** Null when the model was started for embeddings. */
  readonly generator: Generator | null;
  readonly counters: Counters;
  /** Unix time in seconds. */
  readonly startedAt: number;
}

export interface Counters {
  requests: number;
  promptTokens: number;
  promptMillis: number;
  generatedTokens: number;
  generationMillis: number;
}

export function createService(
  args: ChildArguments,
  loaded: LoadedModel,
  onNotice: (sentence: string) => void,
): Service {
  const { model, work, contextTokens } = loaded;
  return {
    args,
    loaded,
    template: createChatTemplate(loaded.library, model, args.chatTemplate, onNotice),
    generator:
      work.kind === 'embed'
        ? null
        : {
            model,
            pool: createSequencePool(Array.from({ length: args.parallel }, () => work.context.getSequence())),
            turnstile: createTurnstile(),
            contextTokens,
            batchTokens: work.context.batchSize,
          },
    counters: { requests: 0, promptTokens: 0, promptMillis: 0, generatedTokens: 0, generationMillis: 0 },
    startedAt: Math.floor(Date.now() / 1000),
  };
}

/** Throws HttpError when the model was started for embeddings only. */
export function requireGenerator({ generator }: Service): Generator {
  if (generator !== null) return generator;
  throw new HttpError(
    501,
    'This model was started with --embeddings and does not generate text; start it without.',
    'not_supported_error',
  );
}
