import type { ChatWrapper, LlamaModel } from 'node-llama-cpp';
import type { Library } from '../model/library.js';
import { readCallFormat, sayFormatLimit, type CallFormat } from '../tools/call-format.js';

/** The library's faces of one chat template. */
export interface ChatWrappers {
  /** For conversations without functions. */
  plain(): ChatWrapper;
  /** For conversations with functions, and how calls look there. */
  calling(): CallingWrapper;
}

export interface CallingWrapper {
  readonly wrapper: ChatWrapper;
  readonly format: CallFormat;
  /** Whether the template tells the model of functions; otherwise that is left to words. */
  readonly tellsOfTools: boolean;
}

/**
 * @param source Jinja, or null for ChatML
 * @param values what the template is given besides the messages
 * @param onNotice gets one sentence for what the template cannot express
 */
export function createChatWrappers(
  library: Library,
  model: LlamaModel,
  source: string | null,
  values: Readonly<Record<string, unknown>>,
  onNotice: (sentence: string) => void,
): ChatWrappers {
  const create = (functionCallMessageTemplate: 'auto' | 'noJinja'): ChatWrapper => {
    if (source === null) return new library.ChatMLChatWrapper();
    return new library.JinjaTemplateChatWrapper({
      template: source,
      tokenizer: model.tokenizer,
      functionCallMessageTemplate,
      trimLeadingWhitespaceInResponses: false,
      additionalRenderParameters: { ...values },
    });
  };
  let plain: ChatWrapper | null = null;
  let calling: CallingWrapper | null = null;
  return {
    plain: () => (plain ??= create('noJinja')),
    calling: () => (calling ??= createCallingWrapper(library, create, onNotice)),
  };
}

function createCallingWrapper(
  library: Library,
  create: (functionCallMessageTemplate: 'auto' | 'noJinja') => ChatWrapper,
  onNotice: (sentence: string) => void,
): CallingWrapper {
  const own = create('auto');
  const ownFormat = 'usingJinjaFunctionCallTemplate' in own && own.usingJinjaFunctionCallTemplate === true;
  const format = ownFormat ? readCallFormat(library, own) : null;
  if (format !== null) {
    const limit = sayFormatLimit(format);
    if (limit !== null) onNotice(limit);
    return { wrapper: own, format, tellsOfTools: true };
  }
  // The library has a form of calls of its own.
  const wrapper = create('noJinja');
  const common = readCallFormat(library, wrapper);
  if (common === null) throw new Error('The library has no form of its own for calls of functions.');
  onNotice(
    `No form for calls of functions could be read from the chat template; the model is told in words to write them as ` +
      `${common.open}NAME${common.beforeArguments('NAME')}{…}${common.afterArguments('NAME')}.`,
  );
  return { wrapper, format: common, tellsOfTools: false };
}
