import type { LlamaModel, Token } from 'node-llama-cpp';
import type { RenderedChat } from '../generation/chat-template.js';
import type { CallFormat } from './call-format.js';
import { grammarForCalls } from './call-grammar.js';
import type { ToolRequest } from './tool-request.js';

/** How the functions of a request are called. */
export interface CallPlan {
  readonly format: CallFormat;
  readonly names: readonly string[];
  /** GBNF for the calls, from the name of the first one on. */
  readonly grammar: string;
  /** What stands before that name. */
  readonly open: readonly Token[];
  /** Control tokens that show in the text, because calls are known by them. */
  readonly shown: ReadonlySet<Token>;
  /** The answer is a call, and the prompt ends with what stands before the name. */
  readonly begun: boolean;
}

/** Null where a conversation has no functions to call. */
export function planCalls(model: LlamaModel, chat: RenderedChat, request: ToolRequest | null): CallPlan | null {
  const { format } = chat;
  if (request === null || format === null) return null;
  const { open, trigger } = format;
  return {
    format,
    names: request.callable.map(({ name }) => name),
    grammar: grammarForCalls(format, request, endOfTurn(model, chat, format.close)),
    open: model.tokenize((request.required ? chat.thoughtEnd : '') + open, true, 'trimLeadingSpace'),
    shown: new Set(model.tokenize(trigger, true).filter((token) => model.isSpecialToken(token))),
    begun: request.required,
  };
}

/** Up to where the turn ends: the library's text goes on into the next one. */
function endOfTurn(model: LlamaModel, { stopStrings }: RenderedChat, close: string): string {
  const ends = stopStrings.map((stop) => close.indexOf(stop.trim())).filter((index) => index >= 0);
  const text = close.slice(0, Math.min(close.length, ...ends));
  const tokens = model.tokenize(text, true);
  const end = tokens.findIndex((token) => model.isEogToken(token));
  return end < 0 ? text : model.detokenize(tokens.slice(0, end), true);
}
