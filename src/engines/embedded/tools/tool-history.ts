import { randomInt } from 'node:crypto';
import type { ChatHistoryItem, ChatModelFunctionCall, ChatModelResponse, LlamaText } from 'node-llama-cpp';
import { HttpError } from '../http/http-error.js';
import { textOf, type ChatMessage, type ToolCall } from '../http/messages.js';
import type { Library } from '../model/library.js';

/** A conversation as the library wants it: results of functions stand within the answer that called them. */
export interface LibraryHistory {
  readonly items: ChatHistoryItem[];
  /** Puts what the functions have returned where the rendered conversation has a stand-in for it. */
  fill(rendered: LlamaText): LlamaText;
}

/**
 * The library writes a result as JSON, text in quotes and with escapes. Clients send text, often whole files, and
 * templates expect it as it is: so the library gets a number to write, which is replaced afterwards.
 * Throws HttpError 400 for a result without a call.
 */
export function toLibraryHistory(library: Library, messages: readonly ChatMessage[]): LibraryHistory {
  const items: ChatHistoryItem[] = [];
  const results = new Map<string, string>();
  let calls: readonly (readonly [string | null, ChatModelFunctionCall])[] = [];
  messages.forEach((message, index) => {
    const text = textOf(message.content);
    const before = messages[index - 1]?.role;
    switch (message.role) {
      case 'system':
      case 'developer':
        items.push({ type: 'system', text });
        return;
      case 'user':
        items.push({ type: 'user', text });
        return;
      case 'assistant': {
        const asked = (message.tool_calls ?? []).map((call, position) => {
          const entry = toLibraryCall(call, position === 0);
          results.set(entry.result as string, '');
          return [call.id ?? null, entry] as const;
        });
        const response = [...(text === '' && asked.length > 0 ? [] : [text]), ...asked.map(([, call]) => call)];
        const last = items.at(-1);
        // An answer goes on after the results of what it has called.
        if (before === 'tool' && last?.type === 'model') last.response.push(...response);
        else items.push({ type: 'model', response } satisfies ChatModelResponse);
        calls = asked;
        return;
      }
      case 'tool': {
        const id = message.tool_call_id ?? null;
        const found = calls.find(([other]) => other === id);
        if (found === undefined || (before !== 'assistant' && before !== 'tool')) {
          throw new HttpError(
            400,
            `'messages.${index}.tool_call_id': '${id ?? ''}' is not among the 'tool_calls' of the assistant before it.`,
          );
        }
        results.set(found[1].result as string, text);
      }
    }
  });
  return { items, fill: (rendered) => (results.size === 0 ? rendered : fillIn(library, rendered, results)) };
}

function toLibraryCall(
  { function: { name, arguments: text } }: ToolCall,
  startsNewChunk: boolean,
): ChatModelFunctionCall {
  return { type: 'functionCall', name, params: parseArguments(text), result: standIn(), startsNewChunk };
}

/** What is no JSON, as from an answer that was cut, stays text. */
function parseArguments(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** With the quotes that the library may put around it, once or twice. */
const STAND_IN = /("\\"9\d{24}\\""|"9\d{24}"|9\d{24})/u;
const MARKS = /[\\"]/gu;

/** A number that is nowhere in the conversation. */
function standIn(): string {
  const digits = (): string => String(randomInt(10 ** 11, 10 ** 12));
  return `9${digits()}${digits()}`;
}

function fillIn({ SpecialTokensText }: Library, rendered: LlamaText, results: ReadonlyMap<string, string>): LlamaText {
  return rendered.mapValues((value) => {
    const plain = typeof value === 'string';
    if (!plain && !(value instanceof SpecialTokensText)) return value;
    const parts = (plain ? value : value.value).split(STAND_IN);
    if (parts.length === 1) return value;
    return parts.map((part) => results.get(part.replaceAll(MARKS, '')) ?? (plain ? part : new SpecialTokensText(part)));
  });
}
