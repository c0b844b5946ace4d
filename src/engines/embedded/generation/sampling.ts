import { randomInt } from 'node:crypto';
import type { LlamaModel, SequenceEvaluateOptions, Token } from 'node-llama-cpp';
import { findUnsupportedField, sayRefused } from '../capability-notes.js';
import type { GenerationFields } from '../http/generation-fields.js';
import { HttpError } from '../http/http-error.js';
import type { Library } from '../model/library.js';
import { readResponseGrammar, type RequestGrammar } from '../grammar/response-grammar.js';
import type { SamplingDefaults } from './sampling-defaults.js';

/** How the next token is chosen, and when to stop. */
export interface Sampling {
  readonly values: Omit<SamplingDefaults, 'seed' | 'maxTokens'>;
  /** Of the first choice; each further one has the next. */
  readonly seed: number;
  readonly drySequenceBreakers: readonly string[] | null;
  readonly logitBias: readonly (readonly [number | string, number | false])[];
  readonly choices: number;
  readonly maxTokens: number | null;
  readonly stop: readonly string[];
  /** GBNF, or null for free text. */
  readonly grammar: RequestGrammar | null;
  /** Whether what an earlier request left in the sequence may be used again. */
  readonly cachePrompt: boolean;
}

const SEEDS = 0x1_0000_0000;

/** What a request says of sampling, over the child's defaults. Throws HttpError 400 for what this engine lacks. */
export function readSampling(request: GenerationFields, defaults: SamplingDefaults): Sampling {
  refuseUnsupported(request);
  const maxTokens = request.max_completion_tokens ?? request.max_tokens ?? request.n_predict ?? null;
  const seed = request.seed ?? defaults.seed;
  return {
    values: {
      temperature: request.temperature ?? defaults.temperature,
      topK: request.top_k ?? defaults.topK,
      topP: request.top_p ?? defaults.topP,
      minP: request.min_p ?? defaults.minP,
      repeatLastTokens: request.repeat_last_n ?? defaults.repeatLastTokens,
      repeatPenalty: request.repeat_penalty ?? defaults.repeatPenalty,
      presencePenalty: request.presence_penalty ?? defaults.presencePenalty,
      frequencyPenalty: request.frequency_penalty ?? defaults.frequencyPenalty,
      xtcProbability: request.xtc_probability ?? defaults.xtcProbability,
      xtcThreshold: request.xtc_threshold ?? defaults.xtcThreshold,
      dryMultiplier: request.dry_multiplier ?? defaults.dryMultiplier,
      dryBase: request.dry_base ?? defaults.dryBase,
      dryAllowedLength: request.dry_allowed_length ?? defaults.dryAllowedLength,
      dryLastTokens: request.dry_penalty_last_n ?? defaults.dryLastTokens,
    },
    // A request without one must not repeat another that came in the same moment.
    seed: seed === null || seed < 0 ? randomInt(SEEDS) : seed % SEEDS,
    drySequenceBreakers: request.dry_sequence_breakers ?? null,
    logitBias: readBiases(request.logit_bias ?? {}),
    choices: request.n ?? request.n_cmpl ?? 1,
    maxTokens: maxTokens === null ? defaults.maxTokens : maxTokens < 0 ? null : maxTokens,
    stop: (typeof request.stop === 'string' ? [request.stop] : (request.stop ?? [])).filter((text) => text !== ''),
    grammar: readResponseGrammar(request),
    cachePrompt: request.cache_prompt ?? true,
  };
}

/**
 * The same for the library, for one choice.
 * @param recent gives the last tokens so far, prompt included, at most as many as it is asked for
 * Throws HttpError 400 for a bias that the library cannot apply.
 */
export function samplerOptions(
  { TokenBias }: Library,
  model: LlamaModel,
  sampling: Sampling,
  choice: number,
  recent: (count: number) => Token[],
): SequenceEvaluateOptions {
  const { values } = sampling;
  const { repeatLastTokens: last, repeatPenalty, presencePenalty, frequencyPenalty } = values;
  const window = last < 0 ? model.trainContextSize : last;
  const penalised = last !== 0 && (repeatPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0);
  return {
    temperature: values.temperature,
    topK: Math.max(0, values.topK),
    topP: values.topP,
    minP: values.minP,
    seed: (sampling.seed + choice) % SEEDS,
    ...(values.xtcProbability > 0 && {
      xtc: { probability: values.xtcProbability, threshold: values.xtcThreshold },
    }),
    ...(penalised && {
      repeatPenalty: {
        punishTokens: () => recent(window),
        maxPunishTokens: window,
        penalty: repeatPenalty,
        presencePenalty,
        frequencyPenalty,
      },
    }),
    ...(values.dryMultiplier > 0 && {
      dryRepeatPenalty: {
        strength: values.dryMultiplier,
        base: values.dryBase,
        allowedLength: values.dryAllowedLength,
        // "All" as the library says it (null) becomes -1, which this llama.cpp takes for none.
        lastTokens: values.dryLastTokens < 0 ? model.trainContextSize : values.dryLastTokens,
        ...(sampling.drySequenceBreakers !== null && { sequenceBreakers: [...sampling.drySequenceBreakers] }),
      },
    }),
    ...(sampling.logitBias.length > 0 && { tokenBias: biasFor(TokenBias.for(model), model, sampling) }),
  };
}

function biasFor<Bias extends InstanceType<Library['TokenBias']>>(
  bias: Bias,
  model: LlamaModel,
  sampling: Sampling,
): Bias {
  const vocabulary = model.fileInfo.metadata.tokenizer.ggml.tokens.length;
  for (const [target, amount] of sampling.logitBias) {
    const tokens = typeof target === 'number' ? [target as Token] : model.tokenize(target);
    for (const token of tokens) {
      if (token >= vocabulary) {
        throw new HttpError(400, `'logit_bias': ${token} is not a token: the model has ${vocabulary} of them.`);
      }
      if (model.isEogToken(token)) {
        throw new HttpError(
          400,
          sayRefused(`'logit_bias' for ${token}, which ends an answer`, 'the library leaves such tokens alone'),
        );
      }
      bias.set(token, amount === false ? 'never' : { logit: amount });
    }
  }
  return bias;
}

/** OpenAI's object by token number, or llama-server's pairs, whose tokens may be texts. */
function readBiases(given: NonNullable<GenerationFields['logit_bias']>): Sampling['logitBias'] {
  if (Array.isArray(given)) return given;
  return Object.entries(given).map(([key, amount]) => [/^\d{1,9}$/u.test(key) ? Number(key) : key, amount] as const);
}

function refuseUnsupported(request: GenerationFields): void {
  const unsupported = findUnsupportedField(request);
  if (unsupported !== null) throw new HttpError(400, unsupported);
}
