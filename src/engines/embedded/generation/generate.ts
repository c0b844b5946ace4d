import { performance } from 'node:perf_hooks';
import type { LlamaGrammar, Token } from 'node-llama-cpp';
import type { Generator } from './generator.js';
import { samplerOptions, type Sampling } from './sampling.js';
import type { Slot } from './sequence-pool.js';
import { createTextAssembler } from './text-assembler.js';

export interface GenerationRequest {
  readonly prompt: readonly Token[];
  readonly sampling: Sampling;
  /** Tokens that end the answer besides the model's own end tokens. */
  readonly stopTokens: ReadonlySet<Token>;
  readonly stopStrings: readonly string[];
}

/** A piece of one choice, as soon as it is certain. */
export interface Piece {
  readonly choice: number;
  /** May be empty: a token that only begins a character, or what may become a stop string. */
  readonly text: string;
  /** Null for text that became certain only at the end. */
  readonly token: Token | null;
  readonly slot: number;
  readonly generatedTokens: number;
  /** When the prompt was done (`performance.now()`). */
  readonly promptDoneAt: number;
}

/** How one choice ended. */
export interface ChoiceResult {
  readonly finish: 'stop' | 'length';
  /** What ended it, in llama-server's words. */
  readonly stopType: 'eos' | 'word' | 'limit';
  /** The stop string that was met; empty for none. */
  readonly stoppingWord: string;
  /** Text that became certain only at the end. */
  readonly rest: string;
  readonly slot: number;
  readonly generatedTokens: number;
  /** When the prompt was done, and when the choice was (`performance.now()`). */
  readonly promptDoneAt: number;
  readonly endedAt: number;
}

/**
 * Samples one choice token by token in a sequence that holds the prompt but for its last token; generation waits for
 * `onPiece`. Aborting the signal ends it at the next token, with the signal's reason.
 */
export async function generateChoice(
  generator: Generator,
  slot: Slot,
  request: GenerationRequest,
  choice: number,
  grammar: LlamaGrammar | null,
  signal: AbortSignal,
  onPiece: (piece: Piece) => Promise<void>,
): Promise<ChoiceResult> {
  const { model, counters, loaded, turnstile } = generator;
  const { prompt, sampling, stopTokens, stopStrings } = request;
  const { sequence, task } = slot;
  const limit = Math.min(sampling.maxTokens ?? Infinity, generator.contextTokens - prompt.length);
  const assembler = createTextAssembler(model, prompt, stopStrings);
  const generated: Token[] = [];
  let stopType: ChoiceResult['stopType'] = 'limit';
  let promptDoneAt: number | null = null;
  let lastAt = performance.now();

  if (limit > 0) {
    const options = samplerOptions(loaded.library, model, sampling, choice, (count) => [
      ...prompt.slice(Math.min(prompt.length, Math.max(0, prompt.length + generated.length - count))),
      ...generated.slice(-count),
    ]);
    const grammarEvaluationState = grammar && new loaded.library.LlamaGrammarEvaluationState({ model, grammar });
    const tokens = sequence.evaluate(prompt.slice(sequence.nextTokenIndex), {
      ...options,
      ...(grammarEvaluationState && { grammarEvaluationState }),
      yieldEogToken: true,
    });
    await turnstile.pass();
    for await (const token of tokens) {
      const now = performance.now();
      if (promptDoneAt === null) {
        promptDoneAt = now;
        if (choice === 0) {
          counters.promptMillis += now - lastAt;
          counters.promptTokens += 1;
        }
      } else counters.generationMillis += now - lastAt;
      generated.push(token);
      counters.generatedTokens += 1;
      counters.mostContextTokens = Math.max(counters.mostContextTokens, prompt.length + generated.length);
      if (task !== null) task.generatedTokens += 1;
      signal.throwIfAborted();
      if (model.isEogToken(token) || stopTokens.has(token)) {
        stopType = 'eos';
        break;
      }
      const text = assembler.push(token);
      await onPiece({ choice, text, token, slot: slot.id, generatedTokens: generated.length, promptDoneAt });
      if (assembler.stopped) {
        stopType = 'word';
        break;
      }
      if (generated.length >= limit) break;
      await turnstile.pass();
      lastAt = performance.now();
    }
  }
  const endedAt = performance.now();
  return {
    finish: stopType === 'limit' ? 'length' : 'stop',
    stopType,
    stoppingWord: assembler.stoppingWord,
    rest: assembler.finish(),
    slot: slot.id,
    generatedTokens: generated.length,
    promptDoneAt: promptDoneAt ?? endedAt,
    endedAt,
  };
}
