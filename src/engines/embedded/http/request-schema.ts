import { z } from 'zod';
import { generationFields, type GenerationFields } from './generation-fields.js';
import { HttpError } from './http-error.js';
import { messageSchema, type ChatMessage } from './messages.js';
import { toolFields, type ToolFields } from './tool-fields.js';

type Maybe<T> = T | null | undefined;

/** What goes into a chat template: the messages, functions, and values that the template itself knows. */
export interface TemplateRequest extends ToolFields {
  readonly messages: ChatMessage[];
  readonly chat_template_kwargs?: Maybe<Record<string, unknown>>;
}

export interface ChatRequest extends GenerationFields, TemplateRequest {}

export interface CompletionRequest extends GenerationFields {
  readonly prompt: string | [string] | number[];
  readonly return_tokens?: Maybe<boolean>;
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
  readonly input: string | string[] | number[] | number[][];
  readonly encoding_format?: Maybe<'float' | 'base64'>;
}

const templated = {
  ...toolFields,
  messages: z.array(messageSchema).min(1),
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
};
const tokens = z.array(z.int().min(0)).min(1);
const MOST_INPUTS = 2048;

export const chatSchema: z.ZodType<ChatRequest> = z.looseObject({ ...generationFields, ...templated });
export const completionSchema: z.ZodType<CompletionRequest> = z.looseObject({
  ...generationFields,
  prompt: z.union([z.string(), z.tuple([z.string()]), tokens], 'must be a string, or one list of token numbers'),
  return_tokens: z.boolean().nullish(),
});
export const templateSchema: z.ZodType<TemplateRequest> = z.looseObject(templated);
export const tokenizeSchema: z.ZodType<TokenizeRequest> = z.looseObject({
  content: z.string(),
  add_special: z.boolean().nullish(),
  parse_special: z.boolean().nullish(),
  with_pieces: z.boolean().nullish(),
});
export const detokenizeSchema: z.ZodType<DetokenizeRequest> = z.looseObject({ tokens: z.array(z.int().min(0)) });
export const embeddingsSchema: z.ZodType<EmbeddingsRequest> = z.looseObject({
  input: z.union(
    [z.string(), z.array(z.string()).min(1).max(MOST_INPUTS), tokens, z.array(tokens).min(1).max(MOST_INPUTS)],
    'must be a string, a list of strings, a list of token numbers or a list of such lists',
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
