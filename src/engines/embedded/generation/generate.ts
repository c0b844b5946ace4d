import { performance } from 'node:perf_hooks';
import type { LlamaGrammar, Token } from 'node-llama-cpp';
import type { CallPlan } from '../tools/call-plan.js';
import type { CallPiece } from '../tools/call-reader.js';
import type { Generator } from './generator.js';
import type { Sampling } from './sampling.js';
import type { Slot } from './sequence-pool.js';
import type { Tally } from './token-stream.js';
import { writeCalls } from './write-calls.js';
import { writeText, type TextEnd, type Work } from './write-text.js';

export interface GenerationRequest {
  readonly prompt: readonly Token[];
  readonly sampling: Sampling;
  /** Tokens that end the answer besides the model's own end tokens. */
  readonly stopTokens: ReadonlySet<Token>;
  /** Strings that end its text; calls of functions go on to their own end. */
  readonly stopStrings: readonly string[];
  /** Null where there are no functions to call. */
  readonly calls: CallPlan | null;
}

/** The grammars of a request, as llama.cpp has read them. */
export interface Grammars {
  readonly text: LlamaGrammar | null;
  readonly calls: LlamaGrammar | null;
}

/** A piece of one choice, as soon as it is certain. */
export interface Piece {
  readonly choice: number;
  /** May be empty: a token that only begins a character, or what may become a stop string. */
  readonly text: string;
  /** Of calls of functions; empty for text. */
  readonly calls: readonly CallPiece[];
  /** Null for what became certain only at the end. */
  readonly token: Token | null;
  readonly slot: number;
  readonly generatedTokens: number;
  /** When the prompt was done (`performance.now()`). */
  readonly promptDoneAt: number;
}

/** How one choice ended. */
export interface ChoiceResult {
  readonly finish: 'stop' | 'length' | 'tool_calls';
  /** What ended it, in llama-server's words. */
  readonly stopType: 'eos' | 'word' | 'limit';
  /** The stop string that was met; empty for none. */
  readonly stoppingWord: string;
  readonly slot: number;
  readonly generatedTokens: number;
  /** When the prompt was done, and when the choice was (`performance.now()`). */
  readonly promptDoneAt: number;
  readonly endedAt: number;
}

/**
 * Generates one choice in a sequence that holds the prompt but for its last token; generation waits for `onPiece`. An
 * answer is text until it turns into calls of functions, and those are its end. Aborting the signal ends it at the
 * next token, with the signal's reason.
 */
export async function generateChoice(
  generator: Generator,
  slot: Slot,
  request: GenerationRequest,
  choice: number,
  grammars: Grammars,
  signal: AbortSignal,
  onPiece: (piece: Piece) => Promise<void>,
): Promise<ChoiceResult> {
  const tally: Tally = { generatedTokens: 0, promptDoneAt: null, stopType: 'limit' };
  const now = (): Pick<Piece, 'slot' | 'generatedTokens' | 'promptDoneAt'> => ({
    slot: slot.id,
    generatedTokens: tally.generatedTokens,
    promptDoneAt: tally.promptDoneAt ?? performance.now(),
  });
  const give: Work['give'] = (piece) => onPiece({ choice, ...now(), ...piece });
  const work: Work = { generator, slot, request, choice, tally, signal, give };
  const { calls } = request;
  const text: TextEnd =
    calls?.begun === true
      ? { kind: 'calls', plan: calls, prompt: request.prompt }
      : await writeText(work, grammars.text);
  const { stopType, stoppingWord, called } =
    text.kind === 'calls' ? await writeCalls(work, text, grammars.calls) : { ...text, called: 0 };
  const finish = stopType === 'limit' ? 'length' : called > 0 ? 'tool_calls' : 'stop';
  return { finish, stopType, stoppingWord, ...now(), endedAt: performance.now() };
}
