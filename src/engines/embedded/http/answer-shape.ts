import type { ChoiceResult, Piece } from '../generation/generate.js';
import type { Timing } from './timing.js';

export interface FinishedCall {
  readonly name: string;
  readonly arguments: string;
}

/** One choice of an answer that is sent as a whole. */
export interface FinishedChoice {
  readonly text: string;
  /** Functions to call, with their arguments as JSON. */
  readonly calls: readonly FinishedCall[];
  readonly tokens: readonly number[];
  readonly result: ChoiceResult;
  readonly timing: Timing;
}

/** How an answer looks on the wire: whole, or as the events of a stream. */
export interface AnswerShape {
  whole(choices: readonly FinishedChoice[], timing: Timing): object;
  /** What comes before any text of a choice, or null. */
  first(choice: number): object | null;
  /** Whether pieces without text are wanted too. */
  readonly everyPiece: boolean;
  /** @param timing there when the client wants it with every token */
  piece(piece: Piece, timing: Timing | null): object;
  last(choice: number, result: ChoiceResult, timing: Timing): object;
  /** The event that only tells the usage, for `stream_options.include_usage`; null where there is none. */
  usage(timing: Timing): object | null;
  /** What ends a stream. */
  readonly farewell: string | null;
}
