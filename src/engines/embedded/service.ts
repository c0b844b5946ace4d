import type { ChildArguments } from './arguments.js';
import { createChatTemplate, type ChatTemplate } from './generation/chat-template.js';
import type { Counters } from './generation/counters.js';
import { createGenerator, type Generator } from './generation/generator.js';
import { HttpError } from './http/http-error.js';
import type { LoadedModel } from './model/load-model.js';
import type { ModelFacts } from './model/model-facts.js';
import type { Residency } from './model/residency.js';

/** A model in memory, with all that requests need of it. */
export interface ActiveModel {
  readonly loaded: LoadedModel;
  readonly template: ChatTemplate;
  /** Null when the model was started for embeddings. */
  readonly generator: Generator | null;
}

/** Everything that requests need. */
export interface Service {
  readonly args: ChildArguments;
  /** What is known of the model even while it sleeps. */
  readonly facts: ModelFacts;
  readonly residency: Residency<ActiveModel>;
  readonly counters: Counters;
  /** Unix time in seconds. */
  readonly startedAt: number;
}

export function activate(
  args: ChildArguments,
  loaded: LoadedModel,
  counters: Counters,
  onNotice: (sentence: string) => void,
): ActiveModel {
  return {
    loaded,
    template: createChatTemplate(loaded.library, loaded.model, args.chatTemplate, onNotice),
    generator: createGenerator(loaded, counters),
  };
}

/** Throws HttpError when the model was started for embeddings only. */
export function requireGenerating({ args }: Service): void {
  if (!args.embeddings) return;
  throw new HttpError(
    501,
    'This model was started with --embeddings and does not generate text; start it without.',
    'not_supported_error',
  );
}
