import type { LlamaModel, Token } from 'node-llama-cpp';
import { performance } from 'node:perf_hooks';
import { HttpError } from './http-error.js';
import type { Sampling } from './sampling.js';
import type { SequencePool, Slot, SlotTask } from './sequence-pool.js';
import type { Turnstile } from './turnstile.js';
import { createTextAssembler } from './text-assembler.js';

export interface GenerationRequest {
  readonly prompt: readonly Token[];
  readonly sampling: Sampling;
  /** Tokens that end the answer besides the model's own end tokens. */
  readonly stopTokens: ReadonlySet<Token>;
  readonly stopStrings: readonly string[];
}

export interface GenerationResult {
  readonly finish: 'stop' | 'length';
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly generatedTokens: number;
  readonly promptMillis: number;
  readonly generationMillis: number;
}

export interface Generator {
  readonly model: LlamaModel;
  readonly pool: SequencePool;
  readonly turnstile: Turnstile;
  /** Of each sequence. */
  readonly contextTokens: number;
  /** Prompt tokens that are evaluated before it is looked whether the client is still there. */
  readonly batchTokens: number;
}

/**
 * Generates one answer: waits for a sequence, evaluates the prompt, then samples token by token. `onText` gets
 * text as soon as it is certain; generation waits for it. Aborting the signal ends it at the next token (or
 * batch of the prompt) with the signal's reason, and the sequence is free again.
 * Throws HttpError when the prompt does not fit.
 */
export async function generate(
  generator: Generator,
  request: GenerationRequest,
  signal: AbortSignal,
  onText: (text: string) => Promise<void>,
): Promise<GenerationResult> {
  const { prompt } = request;
  if (prompt.length === 0) throw new HttpError(400, 'The prompt is empty; send at least one token.');
  if (prompt.length >= generator.contextTokens) {
    throw new HttpError(
      400,
      `The prompt has ${prompt.length} tokens, but the context of a request is ${generator.contextTokens} tokens; ` +
        'shorten it, or start the model with a larger --ctx-size.',
      'exceed_context_size_error',
    );
  }
  const slot = await generator.pool.acquire(prompt, signal);
  try {
    return await generateIn(slot, generator, request, signal, onText);
  } finally {
    generator.pool.release(slot);
  }
}

async function generateIn(
  slot: Slot,
  generator: Generator,
  request: GenerationRequest,
  signal: AbortSignal,
  onText: (text: string) => Promise<void>,
): Promise<GenerationResult> {
  const { sequence } = slot;
  const { model } = generator;
  const { prompt, sampling, stopStrings, stopTokens } = request;
  const startedAt = performance.now();
  const cachedTokens = await generator.turnstile.exclusively(() => reuseCache(slot, prompt, sampling.cachePrompt));
  let rest = prompt.slice(cachedTokens);
  while (rest.length > generator.batchTokens) {
    await generator.turnstile.pass();
    signal.throwIfAborted();
    await sequence.evaluateWithoutGeneratingNewTokens(rest.slice(0, generator.batchTokens));
    rest = rest.slice(generator.batchTokens);
  }
  signal.throwIfAborted();

  const limit = Math.min(sampling.maxTokens ?? Infinity, generator.contextTokens - prompt.length);
  const assembler = createTextAssembler(model, prompt, stopStrings);
  const task: SlotTask | null = slot.task;
  let generatedTokens = 0;
  let finish: GenerationResult['finish'] = 'length';
  let promptDoneAt: number | null = null;
  if (limit > 0) {
    for await (const token of sequence.evaluate(rest, { ...sampling.options, yieldEogToken: true })) {
      promptDoneAt ??= performance.now();
      signal.throwIfAborted();
      generatedTokens += 1;
      if (task !== null) task.generatedTokens = generatedTokens;
      if (model.isEogToken(token) || stopTokens.has(token)) {
        finish = 'stop';
        break;
      }
      const text = assembler.push(token);
      if (text !== '') await onText(text);
      if (assembler.stopped) {
        finish = 'stop';
        break;
      }
      if (generatedTokens >= limit) break;
      await generator.turnstile.pass();
    }
  }
  const last = assembler.finish();
  if (last !== '') await onText(last);
  const endedAt = performance.now();
  return {
    finish,
    promptTokens: prompt.length,
    cachedTokens,
    generatedTokens,
    promptMillis: (promptDoneAt ?? endedAt) - startedAt,
    generationMillis: endedAt - (promptDoneAt ?? endedAt),
  };
}

/** Makes the sequence hold nothing but a beginning of the prompt, and returns how much of it. */
async function reuseCache({ sequence }: Slot, prompt: readonly Token[], allowed: boolean): Promise<number> {
  // The last token is always evaluated: sampling needs what comes out of it.
  if (allowed) await sequence.adaptStateToTokens(prompt.slice(0, -1), false);
  else await sequence.clearHistory();
  return sequence.nextTokenIndex;
}
