import type { ChatHistoryItem, ChatWrapper, LlamaModel, LlamaText, Token } from 'node-llama-cpp';
import { HttpError } from '../http/http-error.js';
import type { Library } from '../model/library.js';
import type { ChatMessage, TemplateRequest } from '../http/request-schema.js';

/** A conversation as the model wants to see it. */
export interface RenderedChat {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** Tokens and strings with which the template ends the assistant's turn. */
  readonly stopTokens: ReadonlySet<Token>;
  readonly stopStrings: readonly string[];
}

export interface ChatTemplate {
  /** Throws HttpError 400 when the template cannot render these messages. */
  render(request: TemplateRequest): RenderedChat;
  /** The Jinja source, or null when the model has none and ChatML is used. */
  readonly source: string | null;
}

/**
 * The template given, else the model's own, else ChatML (as llama-server does).
 * @param onNotice gets one sentence when a template cannot be used
 */
export function createChatTemplate(
  library: Library,
  model: LlamaModel,
  given: string | null,
  onNotice: (sentence: string) => void,
): ChatTemplate {
  const source = given ?? model.fileInfo.metadata.tokenizer.chat_template ?? null;
  let wrapper: ChatWrapper;
  try {
    wrapper = createWrapper(library, model, source, {});
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    onNotice(`The chat template cannot be used, ChatML takes its place: ${why}`);
    wrapper = new library.ChatMLChatWrapper();
  }
  return {
    source,
    render({ messages, chat_template_kwargs: values }) {
      const make = (): ChatWrapper => (values == null ? wrapper : createWrapper(library, model, source, values));
      const state = renderWith(make, messages);
      const tokens = withBeginToken(model, state.contextText.tokenize(model.tokenizer));
      return { text: state.contextText.toString(), tokens, ...readStops(model, state.stopGenerationTriggers) };
    },
  };
}

function createWrapper(
  library: Library,
  model: LlamaModel,
  source: string | null,
  values: Readonly<Record<string, unknown>>,
): ChatWrapper {
  if (source === null) return new library.ChatMLChatWrapper();
  return new library.JinjaTemplateChatWrapper({
    template: source,
    tokenizer: model.tokenizer,
    functionCallMessageTemplate: 'noJinja',
    trimLeadingWhitespaceInResponses: false,
    additionalRenderParameters: { ...values },
  });
}

function renderWith(
  make: () => ChatWrapper,
  messages: readonly ChatMessage[],
): { readonly contextText: LlamaText; readonly stopGenerationTriggers: readonly LlamaText[] } {
  const chatHistory = messages.map(toHistoryItem);
  // An answer that has been begun is continued; otherwise an empty one makes the template open the turn.
  if (chatHistory.at(-1)?.type !== 'model') chatHistory.push({ type: 'model', response: [''] });
  try {
    return make().generateContextState({ chatHistory });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new HttpError(400, `The chat template cannot render these messages: ${why}`);
  }
}

function toHistoryItem({ role, content }: ChatMessage): ChatHistoryItem {
  const text = textOf(content);
  switch (role) {
    case 'system':
    case 'developer':
      return { type: 'system', text };
    case 'user':
      return { type: 'user', text };
    case 'assistant':
      return { type: 'model', response: [text] };
  }
}

function textOf(content: ChatMessage['content']): string {
  return typeof content === 'string' ? content : content.map((part) => part.text).join('\n');
}

/** What the messages say, one text each. */
export function textsOf(messages: readonly ChatMessage[]): readonly string[] {
  return messages.map(({ content }) => textOf(content));
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
