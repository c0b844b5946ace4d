import { z } from 'zod';

type Maybe<T> = T | null | undefined;

/** What chat and plain completions have in common, with llama-server's and OpenAI's names; null counts as absent. */
export interface GenerationFields {
  readonly stream?: Maybe<boolean>;
  readonly stream_options?: Maybe<{ readonly include_usage?: Maybe<boolean> }>;
  readonly timings_per_token?: Maybe<boolean>;
  readonly n?: Maybe<number>;
  readonly n_cmpl?: Maybe<number>;
  readonly max_tokens?: Maybe<number>;
  readonly max_completion_tokens?: Maybe<number>;
  readonly n_predict?: Maybe<number>;
  readonly temperature?: Maybe<number>;
  readonly top_k?: Maybe<number>;
  readonly top_p?: Maybe<number>;
  readonly min_p?: Maybe<number>;
  readonly seed?: Maybe<number>;
  readonly repeat_last_n?: Maybe<number>;
  readonly repeat_penalty?: Maybe<number>;
  readonly presence_penalty?: Maybe<number>;
  readonly frequency_penalty?: Maybe<number>;
  readonly xtc_probability?: Maybe<number>;
  readonly xtc_threshold?: Maybe<number>;
  readonly dry_multiplier?: Maybe<number>;
  readonly dry_base?: Maybe<number>;
  readonly dry_allowed_length?: Maybe<number>;
  readonly dry_penalty_last_n?: Maybe<number>;
  readonly dry_sequence_breakers?: Maybe<string[]>;
  readonly logit_bias?: Maybe<Record<string, number> | [number | string, number | false][]>;
  readonly stop?: Maybe<string | string[]>;
  readonly cache_prompt?: Maybe<boolean>;
  readonly response_format?: Maybe<ResponseFormat>;
  readonly json_schema?: unknown;
  readonly grammar?: Maybe<string>;
}

export interface ResponseFormat {
  readonly type: string;
  readonly json_schema?: Maybe<{ readonly schema?: unknown }>;
  /** llama-server's own addition to `json_object`. */
  readonly schema?: unknown;
}

/** As many choices as OpenAI allows. */
const MOST_CHOICES = 128;
const MOST_STOPS = 64;
const MOST_BIASES = 4096;

const count = z.int().min(-1).max(2_147_483_647).nullish();
const choices = z.int().min(1).max(MOST_CHOICES).nullish();
const penalty = z.number().min(-100).max(100).nullish();
const share = z.number().min(0).max(1).nullish();
const bias = z.number().min(-1000).max(1000);
const biases = z.union(
  [
    z.record(z.string(), bias),
    z.array(z.tuple([z.union([z.int().min(0), z.string()]), z.union([bias, z.literal(false)])])).max(MOST_BIASES),
  ],
  'must be an object of numbers by token, or a list of pairs of a token and a number',
);

/** The fields of every request for generated text. */
export const generationFields: { readonly [Field in keyof GenerationFields]-?: z.ZodType<GenerationFields[Field]> } = {
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  timings_per_token: z.boolean().nullish(),
  n: choices,
  n_cmpl: choices,
  max_tokens: count,
  max_completion_tokens: count,
  n_predict: z.int().min(-2).max(2_147_483_647).nullish(),
  temperature: z.number().min(0).max(100).nullish(),
  top_k: z.int().min(-1).max(1e9).nullish(),
  top_p: share,
  min_p: share,
  seed: z.int().nullish(),
  repeat_last_n: count,
  repeat_penalty: z.number().min(0).max(100).nullish(),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  xtc_probability: share,
  xtc_threshold: share,
  dry_multiplier: z.number().min(0).max(100).nullish(),
  dry_base: z.number().min(1).max(100).nullish(),
  dry_allowed_length: z.int().min(1).max(1e6).nullish(),
  dry_penalty_last_n: count,
  dry_sequence_breakers: z.array(z.string()).max(MOST_STOPS).nullish(),
  logit_bias: biases.nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(MOST_STOPS)], 'must be a string or a list of strings').nullish(),
  cache_prompt: z.boolean().nullish(),
  response_format: z
    .looseObject({ type: z.string(), json_schema: z.looseObject({ schema: z.unknown().optional() }).nullish() })
    .nullish(),
  json_schema: z.unknown().optional(),
  grammar: z.string().nullish(),
};
