import { performance } from 'node:perf_hooks';
import { generateChoice, type ChoiceResult, type GenerationRequest, type Grammars, type Piece } from './generate.js';
import type { Generator } from './generator.js';
import { HttpError } from '../http/http-error.js';
import { copySequence, prefill } from './prompt-cache.js';
import { compileGrammar } from '../grammar/response-grammar.js';
import type { Slot } from './sequence-pool.js';
import type { Timing } from '../http/timing.js';

export interface ChoiceListener {
  onPiece(piece: Piece, timing: () => Timing): Promise<void>;
  /** A choice has ended; others may still go on. */
  onEnd(choice: number, result: ChoiceResult, timing: Timing): Promise<void>;
}

/**
 * Generates all choices of an answer. Waits for as many sequences as there are choices, or for all of them; evaluates
 * the prompt once and copies it to the others, so that the choices start together; choices beyond the number of
 * sequences follow in those that become free. Aborting the signal ends everything at the next token (or batch of the
 * prompt) with the signal's reason, and the sequences are free again.
 * Throws HttpError when the prompt does not fit.
 */
export async function generate(
  generator: Generator,
  request: GenerationRequest,
  signal: AbortSignal,
  listener: ChoiceListener,
): Promise<Timing> {
  const { prompt, sampling, calls } = request;
  checkLength(generator, prompt.length);
  const grammars: Grammars = {
    text: sampling.grammar === null ? null : await compileGrammar(generator.loaded, sampling.grammar),
    calls: calls === null ? null : await compileGrammar(generator.loaded, { text: calls.grammar, field: 'tools' }),
  };
  const slots = await generator.pool.acquire(prompt, sampling.choices, signal);
  // One choice that fails must not leave the others running.
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  try {
    const startedAt = performance.now();
    const cachedTokens = await share(generator, slots, request, either);
    const prompted = { promptTokens: prompt.length, cachedTokens, startedAt };
    const results: ChoiceResult[] = [];
    let next = 0;
    const work = async (slot: Slot): Promise<void> => {
      for (let rewind = false; next < sampling.choices; rewind = true) {
        const choice = next++;
        if (rewind) await prefill(generator, slot, prompt, true, either);
        const result = await generateChoice(generator, slot, request, choice, grammars, either, (piece) =>
          listener.onPiece(piece, () => summarise(prompted, [{ ...piece, endedAt: performance.now() }])),
        );
        results[choice] = result;
        await listener.onEnd(choice, result, summarise(prompted, [result]));
      }
    };
    const settled = await Promise.allSettled(
      slots.map((slot) =>
        work(slot).catch((error: unknown) => {
          failed.abort(error);
          throw error;
        }),
      ),
    );
    signal.throwIfAborted();
    if (failed.signal.aborted) throw failed.signal.reason;
    if (settled.some(({ status }) => status === 'rejected')) throw new Error('A choice has failed.');
    generator.counters.requests += 1;
    return summarise(prompted, results);
  } finally {
    generator.pool.release(slots);
  }
}

/** Brings the prompt into every sequence; it is evaluated in the first one only. Returns how much was there already. */
async function share(
  generator: Generator,
  slots: readonly Slot[],
  { prompt, sampling }: GenerationRequest,
  signal: AbortSignal,
): Promise<number> {
  const [parent, ...others] = slots;
  if (parent === undefined) throw new Error('There is no sequence.');
  const cachedTokens = await prefill(generator, parent, prompt, sampling.cachePrompt, signal);
  const copied =
    others.length > 0 &&
    prompt.length > 1 &&
    (await copySequence(generator, parent, others).then(
      () => true,
      // Without room for the copy each sequence evaluates the prompt itself: slower, and the same answer.
      () => false,
    ));
  if (!copied) for (const slot of others) await prefill(generator, slot, prompt, sampling.cachePrompt, signal);
  signal.throwIfAborted();
  return cachedTokens;
}

function checkLength({ contextTokens }: Generator, length: number): void {
  if (length === 0) throw new HttpError(400, 'The prompt is empty; send at least one token.');
  if (length < contextTokens) return;
  throw new HttpError(
    400,
    `The prompt has ${length} tokens, but the context of a request is ${contextTokens} tokens; shorten it, or start ` +
      'the model with a larger --ctx-size or a smaller --parallel.',
    'exceed_context_size_error',
  );
}

function summarise(
  { promptTokens, cachedTokens, startedAt }: Pick<Timing, 'promptTokens' | 'cachedTokens'> & { startedAt: number },
  choices: readonly Pick<ChoiceResult, 'generatedTokens' | 'promptDoneAt' | 'endedAt'>[],
): Timing {
  const promptDoneAt = Math.min(...choices.map((choice) => choice.promptDoneAt));
  return {
    promptTokens,
    cachedTokens,
    generatedTokens: choices.reduce((sum, choice) => sum + choice.generatedTokens, 0),
    promptMillis: promptDoneAt - startedAt,
    generationMillis: Math.max(...choices.map((choice) => choice.endedAt)) - promptDoneAt,
  };
}
