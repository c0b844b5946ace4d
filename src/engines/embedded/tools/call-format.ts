import type { ChatWrapper, LlamaText } from 'node-llama-cpp';
import type { Library } from '../model/library.js';

/** How a model writes calls of functions, as text with the names of control tokens. */
export interface CallFormat {
  /** What comes before the name of the first function; begins without white space. */
  readonly open: string;
  /** From the name to the arguments, which are JSON. */
  readonly beforeArguments: (name: string) => string;
  readonly afterArguments: (name: string) => string;
  /** From there to the name of the next function; null where there is one call at most. */
  readonly between: string | null;
  /** After the last call, before the turn ends. */
  readonly close: string;
  /** Text at which an answer turns into calls. */
  readonly trigger: string;
  /** Whether it does so only at the beginning of an answer: JSON may also be what was asked for. */
  readonly triggersAtStartOnly: boolean;
}

/** Something that stands for a call and for nothing else, as `<tool_call>` or `[TOOL_CALLS]`. */
const TAG = /^(?:<[^<>\n]{2,}>|\[[A-Z_]{4,}\])/u;
/** Half of a control token: what the library took from the template begins in the middle of something else. */
const TORN = /^[\w▁｜]*[|｜]?>/u;
const STAND_IN = 'the_function';

/**
 * What the library has found out about a template; null where that cannot be used, as for a template that marks calls
 * by nothing at all.
 */
export function readCallFormat(library: Library, { settings }: ChatWrapper): CallFormat | null {
  const { call, parallelism } = settings.functions;
  const text = (value: string | LlamaText | undefined): string => plainText(library, value);
  const open = (text(parallelism?.call.sectionPrefix) + text(call.prefix)).trimStart();
  const beforeArguments = text(call.paramsPrefix);
  const suffix = text(call.suffix);
  if (open === '' || TORN.test(open) || beforeArguments === '') return null;
  const tag = TAG.exec(open)?.[0];
  return {
    open,
    beforeArguments: (name) => beforeArguments.replaceAll('{{functionName}}', name),
    afterArguments: (name) => suffix.replaceAll('{{functionName}}', name),
    between: parallelism === undefined ? null : text(parallelism.call.betweenCalls) + text(call.prefix),
    close: text(parallelism?.call.sectionSuffix),
    trigger: tag ?? open.trimEnd(),
    triggersAtStartOnly: tag === undefined && /^[[{]/u.test(open),
  };
}

/** What is not quite as the model has learnt it, in one sentence for the log; null for nothing. */
export function sayFormatLimit(format: CallFormat): string | null {
  // The library hands a template whose calls name each argument apart an argument of this name with all of them.
  if (!/\bparams\b/u.test(format.beforeArguments(STAND_IN))) return null;
  return (
    'The chat template writes each argument of a function apart, which the embedded engine cannot: a call has all of ' +
    'them as JSON in one place.'
  );
}

/** Text up to a token that is known by its task only, such as the one that ends a turn. */
function plainText({ LlamaText, SpecialToken }: Library, value: string | LlamaText | undefined): string {
  let text = '';
  for (const part of LlamaText(value ?? '').values) {
    if (part instanceof SpecialToken) break;
    text += typeof part === 'string' ? part : part.value;
  }
  return text;
}
