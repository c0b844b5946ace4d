import type { AnswerShape } from './answer-shape.js';
import type { GenerationRequest } from '../generation/generate.js';
import { describeTimings, type Timing } from './timing.js';

/** What a request for llama-server's own `/completion` says of its answer. */
export interface LlamaShapeOptions {
  readonly model: string;
  /** The prompt as text. */
  readonly prompt: string;
  readonly request: GenerationRequest;
  /** Whether the tokens are wanted besides the text. */
  readonly returnTokens: boolean;
}

/** The answers of llama-server's own `/completion`; with several choices a list of them. */
export function createLlamaShape({ model, prompt, request, returnTokens }: LlamaShapeOptions): AnswerShape {
  const counts = (timing: Timing): object => ({
    tokens_predicted: timing.generatedTokens,
    tokens_evaluated: timing.promptTokens,
  });
  const last: AnswerShape['last'] = (index, { stopType, stoppingWord, slot }, timing) => ({
    index,
    content: '',
    tokens: [],
    id_slot: slot,
    stop: true,
    model,
    ...counts(timing),
    generation_settings: describeSettings(request),
    prompt,
    truncated: false,
    stop_type: stopType,
    stopping_word: stoppingWord,
    tokens_cached: timing.promptTokens + timing.generatedTokens,
    timings: describeTimings(timing),
  });
  return {
    whole: (choices) => {
      const objects = choices.map(({ text, tokens, result, timing }, index) => ({
        ...last(index, result, timing),
        content: text,
        tokens: returnTokens ? tokens : [],
        has_new_line: text.includes('\n'),
      }));
      const [only = {}] = objects;
      return objects.length === 1 ? only : objects;
    },
    first: () => null,
    everyPiece: returnTokens,
    piece: ({ choice, text, token, slot, generatedTokens }, timing) => ({
      index: choice,
      content: text,
      tokens: returnTokens && token !== null ? [token] : [],
      stop: false,
      id_slot: slot,
      tokens_predicted: generatedTokens,
      tokens_evaluated: request.prompt.length,
      ...(timing !== null && { timings: describeTimings(timing) }),
    }),
    last,
    usage: () => null,
    farewell: null,
  };
}

function describeSettings({ sampling, stopStrings }: GenerationRequest): object {
  const { values } = sampling;
  return {
    seed: sampling.seed,
    temperature: values.temperature,
    top_k: values.topK,
    top_p: values.topP,
    min_p: values.minP,
    repeat_last_n: values.repeatLastTokens,
    repeat_penalty: values.repeatPenalty,
    presence_penalty: values.presencePenalty,
    frequency_penalty: values.frequencyPenalty,
    xtc_probability: values.xtcProbability,
    xtc_threshold: values.xtcThreshold,
    dry_multiplier: values.dryMultiplier,
    dry_base: values.dryBase,
    dry_allowed_length: values.dryAllowedLength,
    dry_penalty_last_n: values.dryLastTokens,
    n_predict: sampling.maxTokens ?? -1,
    grammar: sampling.grammar ?? '',
    stop: stopStrings,
  };
}
