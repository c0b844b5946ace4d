import type { ChatWrapper, LlamaText } from 'node-llama-cpp';
import type { Library } from '../model/library.js';

/** Where a template opens a thought itself, what the library sees after an answer begins with the end of that thought. */
export function withoutThought(
  { LlamaText, SpecialTokensText }: Library,
  { settings }: ChatWrapper,
  stop: LlamaText,
): LlamaText {
  const { prefix, suffix = '' } = settings.segments?.thought ?? {};
  const end = suffix.toString().trim();
  const [first, ...rest] = stop.values;
  if (typeof prefix !== 'object' || !('type' in prefix) || !(first instanceof SpecialTokensText)) return stop;
  const text = first.value.trimStart();
  if (end === '' || !text.startsWith(end)) return stop;
  return LlamaText([new SpecialTokensText(text.slice(end.length).trimStart()), ...rest]);
}

/** What ends a thought that the rendered text leaves open; empty for none. */
export function endOfThought({ LlamaText }: Library, { settings }: ChatWrapper, text: string): string {
  const { prefix, suffix = '' } = settings.segments?.thought ?? {};
  if (prefix === undefined) return '';
  const end = suffix.toString();
  const open =
    typeof prefix === 'string' || LlamaText.isLlamaText(prefix)
      ? text.endsWith(prefix.toString().trim())
      : !text.endsWith(end.trim());
  return open ? end : '';
}
