import type { ChatModelFunctions, LlamaModel, LlamaText, Token } from 'node-llama-cpp';
import { HttpError } from '../http/http-error.js';
import { hasCalls } from '../http/messages.js';
import type { TemplateRequest } from '../http/request-schema.js';
import type { Library } from '../model/library.js';
import type { CallFormat } from '../tools/call-format.js';
import { toLibraryHistory, type LibraryHistory } from '../tools/tool-history.js';
import type { FunctionTool } from '../tools/tool-request.js';
import { withToolsInWords } from '../tools/tool-words.js';
import { endOfThought, withoutThought } from './thoughts.js';
import { createChatWrappers, type CallingWrapper, type ChatWrappers } from './chat-wrappers.js';

/** A conversation as the model wants to see it. */
export interface RenderedChat {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** Tokens and strings with which the template ends the assistant's turn. */
  readonly stopTokens: ReadonlySet<Token>;
  readonly stopStrings: readonly string[];
  /** How calls of functions look; null for a conversation without any. */
  readonly format: CallFormat | null;
  /** What ends a thought that the template has begun for the model; empty for none. */
  readonly thoughtEnd: string;
}

export interface ChatTemplate {
  /**
   * @param tools functions that the model is told of
   * Throws HttpError 400 when the template cannot render these messages.
   */
  render(request: TemplateRequest, tools: readonly FunctionTool[]): RenderedChat;
  /** The Jinja source, or null when the model has none and ChatML is used. */
  readonly source: string | null;
}

/** A conversation without functions. */
const PLAIN = { format: null, tellsOfTools: false };

/**
 * The template given, else the model's own, else ChatML (as llama-server does).
 * @param onNotice gets one sentence for what a template cannot do, once
 */
export function createChatTemplate(
  library: Library,
  model: LlamaModel,
  given: string | null,
  onNotice: (sentence: string) => void,
): ChatTemplate {
  const source = given ?? model.fileInfo.metadata.tokenizer.chat_template ?? null;
  const said = new Set<string>();
  const create = (template: string | null, values: Readonly<Record<string, unknown>>): ChatWrappers =>
    createChatWrappers(library, model, template, values, (sentence) => {
      if (!said.has(sentence)) onNotice(sentence);
      said.add(sentence);
    });
  let usual = create(source, {});
  try {
    usual.plain();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    onNotice(`The chat template cannot be used, ChatML takes its place: ${why}`);
    usual = create(null, {});
  }
  return {
    source,
    render(request, tools) {
      const { messages, chat_template_kwargs: values } = request;
      const history = toLibraryHistory(library, messages);
      try {
        const wrappers = values == null ? usual : create(source, values);
        const calling = tools.length > 0 || hasCalls(messages) ? wrappers.calling() : null;
        return renderWith(library, model, calling ?? { ...PLAIN, wrapper: wrappers.plain() }, history, tools);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new HttpError(400, `The chat template cannot render these messages: ${why}`);
      }
    },
  };
}

function renderWith(
  library: Library,
  model: LlamaModel,
  { wrapper, format, tellsOfTools }: Omit<CallingWrapper, 'format'> & { readonly format: CallFormat | null },
  history: LibraryHistory,
  tools: readonly FunctionTool[],
): RenderedChat {
  const given = [...history.items];
  // An answer that has been begun is continued; otherwise an empty one makes the template open the turn.
  if (given.at(-1)?.type !== 'model') given.push({ type: 'model', response: [''] });
  const inWords = format !== null && !tellsOfTools && tools.length > 0;
  const state = wrapper.generateContextState({
    chatHistory: inWords ? withToolsInWords(given, tools, format) : given,
    ...(tellsOfTools && tools.length > 0 && { availableFunctions: toLibraryFunctions(tools) }),
  });
  const contextText = history.fill(state.contextText);
  const text = contextText.toString();
  return {
    text,
    tokens: withBeginToken(model, contextText.tokenize(model.tokenizer)),
    ...readStops(
      model,
      state.stopGenerationTriggers.map((stop) => withoutThought(library, wrapper, stop)),
    ),
    format,
    thoughtEnd: endOfThought(library, wrapper, text.trimEnd()),
  };
}

function toLibraryFunctions(tools: readonly FunctionTool[]): ChatModelFunctions {
  return Object.fromEntries(
    tools.map(({ name, description, shown }) => [
      name,
      // Some templates fail without a description. Only the model reads the schema, so that it may be any.
      { description: description ?? '', params: (shown ?? { type: 'object', properties: {} }) as never },
    ]),
  );
}

function readStops(
  model: LlamaModel,
  triggers: readonly LlamaText[],
): Pick<RenderedChat, 'stopTokens' | 'stopStrings'> {
  const stopTokens = new Set<Token>();
  const stopStrings: string[] = [];
  for (const trigger of triggers) {
    const [first] = trigger.tokenize(model.tokenizer);
    // A control token never shows in the text, so it is recognised by itself, whatever follows it in the template.
    if (first !== undefined && model.isSpecialToken(first)) stopTokens.add(first);
    else if (trigger.toString() !== '') stopStrings.push(trigger.toString());
  }
  return { stopTokens, stopStrings };
}

/** Puts the model's first token in front where the model wants one and the text did not bring it. */
export function withBeginToken(model: LlamaModel, tokens: readonly Token[]): readonly Token[] {
  const { bos, shouldPrependBosToken } = model.tokens;
  return bos !== null && shouldPrependBosToken && tokens[0] !== bos ? [bos, ...tokens] : tokens;
}
