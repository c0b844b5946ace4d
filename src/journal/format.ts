import { hash } from 'node:crypto';
import type { Decision } from '../scheduler/decisions.js';
import type { Event } from '../scheduler/events.js';
import type { State } from '../scheduler/state.js';
import type { Millis } from '../scheduler/units.js';

/**
 * A journal file is lines of JSON: this header, the scheduler's whole state, then every event in order. An event that
 * made decisions is followed by their hash; a file that was closed in order ends with the hash of the state.
 * The number changes whenever the lines, or the state in them, can no longer be read by the code of before.
 */
export const JOURNAL_SCHEMA = 1;

export interface JournalHeader {
  readonly journal: typeof JOURNAL_SCHEMA;
  /** Version of the program that wrote it. */
  readonly version: string;
  /** Which build of the scheduler made the decisions; see `schedulerBuild`. */
  readonly scheduler: string;
  /** When the run started; the files of one run share it. */
  readonly startedAt: Millis;
  /** 1 for the run's first file, 2 for the next, … */
  readonly part: number;
}

export interface StateLine {
  readonly state: State;
}

/** Follows an event that made decisions. */
export interface DecidedLine {
  readonly decided: string;
}

/** The last line of a file that was closed in order: the hash of the state after all its events. */
export interface EndLine {
  readonly end: string;
}

/** What a journal holds after header and state, with the number of the line (from 1) that it was read from. */
export type JournalRecord =
  | { readonly kind: 'event'; readonly line: number; readonly event: Event }
  | { readonly kind: 'decided'; readonly line: number; readonly hash: string }
  | { readonly kind: 'end'; readonly line: number; readonly hash: string }
  /** The writer was stopped in the middle of its last line. */
  | { readonly kind: 'unfinished'; readonly line: number };

/** A journal that cannot be read or replayed; the message is one sentence with file and line. */
export class JournalError extends Error {
  override readonly name = 'JournalError';
}

const HASH_CHARS = 16;

export function hashOfDecisions(decisions: readonly Decision[]): string {
  return shortHash(JSON.stringify(decisions));
}

export function hashOfState(state: State): string {
  return shortHash(JSON.stringify(state));
}

/** The beginning of a text's SHA-256, in hexadecimal. */
export function shortHash(text: string): string {
  return hash('sha256', text, 'hex').slice(0, HASH_CHARS);
}
