import type { ChatHistoryItem } from 'node-llama-cpp';
import type { CallFormat } from './call-format.js';
import type { FunctionTool } from './tool-request.js';

/**
 * Tells the model of functions in words, for a template that has no place for them. The library has words of its own,
 * but leaves out of them what it does not know of a schema.
 */
export function withToolsInWords(
  items: readonly ChatHistoryItem[],
  tools: readonly FunctionTool[],
  { open, beforeArguments, afterArguments }: CallFormat,
): readonly ChatHistoryItem[] {
  const lines = tools.map(({ text }) => text);
  const call = `${open}NAME${beforeArguments('NAME')}{"KEY": "VALUE"}${afterArguments('NAME')}`;
  const words =
    `These functions can be called, with parameters as their JSON schemas say:\n${lines.join('\n')}\n` +
    `Where an answer needs what a function does or knows, write nothing but a call of it, in this form:\n${call}\n` +
    'What the function returns comes right after the call, and the user does not see it.';
  const first = items.findIndex(({ type }) => type !== 'system');
  const at = first < 0 ? items.length : first;
  return [...items.slice(0, at), { type: 'system', text: words }, ...items.slice(at)];
}
