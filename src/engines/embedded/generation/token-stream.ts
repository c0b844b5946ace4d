import { performance } from 'node:perf_hooks';
import type { LlamaGrammar, Token } from 'node-llama-cpp';
import type { Generator } from './generator.js';
import { samplerOptions, type Sampling } from './sampling.js';
import type { Slot } from './sequence-pool.js';

/** What is sampled, and after what. */
export interface TokenRequest {
  /** The sequence holds it but for its last token. */
  readonly prompt: readonly Token[];
  readonly sampling: Sampling;
  readonly choice: number;
  readonly grammar: LlamaGrammar | null;
  /** Tokens that end the answer besides the model's own end tokens. */
  readonly stopTokens: ReadonlySet<Token>;
  /** Of the whole choice, whatever it has had before. */
  readonly mostTokens: number;
}

/** How far a choice is. */
export interface Tally {
  generatedTokens: number;
  /** When the prompt was done (`performance.now()`); null before. */
  promptDoneAt: number | null;
  /** What ended the latest stream, where its tokens did not. */
  stopType: 'eos' | 'limit';
}

/**
 * Samples token by token until the model ends its answer, there have been enough of them or nobody asks for more, and
 * counts them; what ends an answer is counted, and not given out. Aborting the signal ends it at the next token, with
 * the signal's reason.
 */
export async function* streamTokens(
  generator: Generator,
  { sequence, task }: Slot,
  { prompt, sampling, choice, grammar, stopTokens, mostTokens }: TokenRequest,
  tally: Tally,
  signal: AbortSignal,
): AsyncGenerator<Token, void> {
  const { model, counters, loaded, turnstile } = generator;
  tally.stopType = 'limit';
  if (tally.generatedTokens >= mostTokens) return;
  const generated: Token[] = [];
  const options = samplerOptions(loaded.library, model, sampling, choice, (count) => [
    ...prompt.slice(Math.min(prompt.length, Math.max(0, prompt.length + generated.length - count))),
    ...generated.slice(-count),
  ]);
  const grammarEvaluationState = grammar && new loaded.library.LlamaGrammarEvaluationState({ model, grammar });
  let lastAt = performance.now();
  const tokens = sequence.evaluate(prompt.slice(sequence.nextTokenIndex), {
    ...options,
    ...(grammarEvaluationState && { grammarEvaluationState }),
    yieldEogToken: true,
  });
  await turnstile.pass();
  for await (const token of tokens) {
    const now = performance.now();
    if (tally.promptDoneAt === null) {
      tally.promptDoneAt = now;
      if (choice === 0) {
        counters.promptMillis += now - lastAt;
        counters.promptTokens += 1;
      }
    } else counters.generationMillis += now - lastAt;
    generated.push(token);
    tally.generatedTokens += 1;
    counters.generatedTokens += 1;
    counters.mostContextTokens = Math.max(counters.mostContextTokens, prompt.length + generated.length);
    if (task !== null) task.generatedTokens += 1;
    signal.throwIfAborted();
    if (model.isEogToken(token) || stopTokens.has(token)) {
      tally.stopType = 'eos';
      return;
    }
    yield token;
    if (tally.generatedTokens >= mostTokens) return;
    await turnstile.pass();
    lastAt = performance.now();
  }
}
