import type { LlamaGrammar } from 'node-llama-cpp';
import { createCallReader } from '../tools/call-reader.js';
import type { ChoiceResult } from './generate.js';
import { prefill } from './prompt-cache.js';
import { createTextAssembler } from './text-assembler.js';
import { streamTokens } from './token-stream.js';
import type { TextEnd, Work } from './write-text.js';

/** How calls of functions ended. */
export type CallsEnd = Pick<ChoiceResult, 'stopType' | 'stoppingWord'> & {
  /** Calls whose arguments are complete. */
  readonly called: number;
};

/**
 * Writes calls, to which the grammar holds the model, from the name of the first function on. The text of an answer
 * may have ended within a token; what the model reads is put right before, as the template has it.
 */
export async function writeCalls(
  { generator, slot, request, choice, tally, signal, give }: Work,
  { plan, prompt }: Extract<TextEnd, { readonly kind: 'calls' }>,
  grammar: LlamaGrammar | null,
): Promise<CallsEnd> {
  const { model, contextTokens } = generator;
  const { sampling, stopTokens } = request;
  const room = contextTokens - prompt.length;
  const mostTokens = Math.min(sampling.maxTokens ?? Infinity, tally.generatedTokens + room);
  const reader = createCallReader(plan.format, plan.names);
  // The sequence holds the prompt of the request already; what has been written since is put right.
  if (prompt !== request.prompt && tally.generatedTokens < mostTokens)
    await prefill(generator, slot, prompt, true, signal);
  const assembler = createTextAssembler(model, prompt, { stops: [], shows: () => true });
  const wanted = { prompt, sampling, choice, grammar, stopTokens, mostTokens };
  for await (const token of streamTokens(generator, slot, wanted, tally, signal)) {
    await give({ text: '', calls: reader.push(assembler.push(token)), token });
  }
  const rest = reader.push(assembler.finish());
  if (rest.length > 0) await give({ text: '', calls: rest, token: null });
  return { stopType: tally.stopType, stoppingWord: '', called: reader.complete };
}
