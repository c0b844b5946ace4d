import { z } from 'zod';
import type { Schema } from '../grammar/json-grammar.js';

type Maybe<T> = T | null | undefined;

/** What a request for chat says of functions, with OpenAI's names; null counts as absent. */
export interface ToolFields {
  readonly tools?: Maybe<
    {
      readonly type: 'function';
      readonly function: {
        readonly name: string;
        readonly description?: Maybe<string>;
        readonly parameters?: Maybe<Schema>;
        readonly strict?: Maybe<boolean>;
      };
    }[]
  >;
  readonly tool_choice?: Maybe<
    'none' | 'auto' | 'required' | { readonly type: 'function'; readonly function: { readonly name: string } }
  >;
  readonly parallel_tool_calls?: Maybe<boolean>;
  /** OpenAI's old form of `tools`, and of `tool_choice`. */
  readonly functions?: Maybe<unknown[]>;
  readonly function_call?: unknown;
}

/** As many functions as OpenAI allows. */
const MOST_TOOLS = 128;

const tool = z.object({
  type: z.literal('function', 'must be "function": the model calls nothing else'),
  function: z.object({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
    strict: z.boolean().nullish(),
  }),
});
const named = z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) });

export const toolFields: { readonly [Field in keyof ToolFields]-?: z.ZodType<ToolFields[Field]> } = {
  tools: z.array(tool).max(MOST_TOOLS).nullish(),
  tool_choice: z
    .union([z.enum(['none', 'auto', 'required']), named], 'must be none, auto, required or the name of one function')
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  functions: z.array(z.unknown()).nullish(),
  function_call: z.unknown().optional(),
};
