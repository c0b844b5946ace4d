import { z } from 'zod';
import { HttpError } from './http-error.js';

type Maybe<T> = T | null | undefined;

/** What chat and plain completions have in common; null counts as absent. */
export interface GenerationFields {
  readonly stream?: Maybe<boolean>;
  readonly stream_options?: Maybe<{ readonly include_usage?: Maybe<boolean> }>;
  readonly n?: Maybe<number>;
  readonly max_tokens?: Maybe<number>;
  readonly max_completion_tokens?: Maybe<number>;
  readonly n_predict?: Maybe<number>;
  readonly temperature?: Maybe<number>;
  readonly top_k?: Maybe<number>;
  readonly top_p?: Maybe<number>;
  readonly min_p?: Maybe<number>;
  readonly seed?: Maybe<number>;
  readonly stop?: Maybe<string | string[]>;
  readonly cache_prompt?: Maybe<boolean>;
  readonly tools?: Maybe<unknown[]>;
  readonly response_format?: Maybe<{ readonly type: string }>;
  readonly logit_bias?: unknown;
}

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant';
  readonly content: string | { readonly type: 'text'; readonly text: string }[];
}

export interface ChatRequest extends GenerationFields {
  readonly messages: ChatMessage[];
}

export interface CompletionRequest extends GenerationFields {
  readonly prompt: string | [string] | number[];
}

export interface TemplateRequest {
  readonly messages: ChatMessage[];
}

export interface TokenizeRequest {
  readonly content: string;
  readonly add_special?: Maybe<boolean>;
  readonly parse_special?: Maybe<boolean>;
  readonly with_pieces?: Maybe<boolean>;
}

export interface DetokenizeRequest {
  readonly tokens: number[];
}

export interface EmbeddingsRequest {
  readonly input: string | string[] | number[];
  readonly encoding_format?: Maybe<'float' | 'base64'>;
}

const count = z.int().min(-1).max(2_147_483_647).nullish();
const fields = {
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.int().nullish(),
  max_tokens: count,
  max_completion_tokens: count,
  n_predict: count,
  temperature: z.number().min(0).max(100).nullish(),
  top_k: z.int().min(0).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  seed: z.int().nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(64)], 'must be a string or a list of strings').nullish(),
  cache_prompt: z.boolean().nullish(),
  tools: z.array(z.unknown()).nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
  logit_bias: z.unknown().optional(),
};

const textPart = z.object({
  type: z.literal('text', 'must be "text": the model reads nothing else'),
  text: z.string(),
});
const content = z.union([z.string(), z.array(textPart)], 'must be a string or a list of text parts');
const message = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant'], 'must be system, user or assistant'),
  content,
});

export const chatSchema: z.ZodType<ChatRequest> = z.looseObject({ ...fields, messages: z.array(message).min(1) });
export const completionSchema: z.ZodType<CompletionRequest> = z.looseObject({
  ...fields,
  prompt: z.union(
    [z.string(), z.tuple([z.string()]), z.array(z.int().min(0)).min(1)],
    'must be a string, or one list of token numbers',
  ),
});
export const templateSchema: z.ZodType<TemplateRequest> = z.looseObject({ messages: z.array(message).min(1) });
export const tokenizeSchema: z.ZodType<TokenizeRequest> = z.looseObject({
  content: z.string(),
  add_special: z.boolean().nullish(),
  parse_special: z.boolean().nullish(),
  with_pieces: z.boolean().nullish(),
});
export const detokenizeSchema: z.ZodType<DetokenizeRequest> = z.looseObject({ tokens: z.array(z.int().min(0)) });
export const embeddingsSchema: z.ZodType<EmbeddingsRequest> = z.looseObject({
  input: z.union(
    [z.string(), z.array(z.string()).min(1).max(2048), z.array(z.int().min(0)).min(1)],
    'must be a string, a list of strings or a list of token numbers',
  ),
  encoding_format: z.enum(['float', 'base64']).nullish(),
});

/** Checks a body. Throws HttpError 400 with one sentence that names the field. */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.map(String).join('.') ?? '';
  throw new HttpError(400, `${field === '' ? 'The request' : `'${field}'`}: ${issue?.message ?? 'is not valid'}.`);
}
