import { z } from 'zod';

type Maybe<T> = T | null | undefined;
type Content = string | { readonly type: 'text'; readonly text: string }[];

/** A call that an answer has made, as it is sent back. */
export interface ToolCall {
  readonly id?: Maybe<string>;
  readonly type?: Maybe<'function'>;
  readonly function: { readonly name: string; readonly arguments: string };
}

export type ChatMessage =
  | { readonly role: 'system' | 'developer' | 'user'; readonly content: Content }
  | { readonly role: 'assistant'; readonly content?: Maybe<Content>; readonly tool_calls?: Maybe<ToolCall[]> }
  | { readonly role: 'tool'; readonly content: Content; readonly tool_call_id?: Maybe<string> };

const textPart = z.object({
  type: z.literal('text', 'must be "text": the model reads nothing else'),
  text: z.string(),
});
const content = z.union([z.string(), z.array(textPart)], 'must be a string or a list of text parts');
const toolCall = z.object({
  id: z.string().nullish(),
  type: z.literal('function', 'must be "function"').nullish(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

export const messageSchema: z.ZodType<ChatMessage> = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.enum(['system', 'developer', 'user']), content }),
    z.object({ role: z.literal('assistant'), content: content.nullish(), tool_calls: z.array(toolCall).nullish() }),
    z.object({ role: z.literal('tool'), content, tool_call_id: z.string().nullish() }),
  ],
  'must be system, user, assistant or tool',
);

/** The text of a message, empty for none. */
export function textOf(given: Maybe<Content>): string {
  return typeof given === 'string' ? given : (given ?? []).map((part) => part.text).join('\n');
}

/** What the messages say, calls of functions included, and what is told of functions: one text each. */
export function textsOf(
  messages: readonly ChatMessage[],
  tools: readonly { readonly text: string }[] = [],
): readonly string[] {
  const said = messages.map((message) => {
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    return textOf(message.content) + calls.map(({ function: call }) => call.name + call.arguments).join('');
  });
  return [...said, ...tools.map(({ text }) => text)];
}

/** Whether the conversation has calls of functions in it. */
export function hasCalls(messages: readonly ChatMessage[]): boolean {
  return messages.some((message) => message.role === 'assistant' && (message.tool_calls ?? []).length > 0);
}
