import type { Event } from '../scheduler/events.js';
import { DEFAULT_SETTINGS } from '../scheduler/default-settings.js';
import type { State } from '../scheduler/state.js';
import { initialState } from '../scheduler/step.js';
import { JOURNAL_SCHEMA, JournalError, type JournalHeader, type JournalRecord } from './format.js';
import { linesOf, type Line } from './lines.js';
import { decodeSample, type SampleEvent, type SampleLine } from './sample-delta.js';

/** A recorded journal, opened. */
export interface Journal {
  readonly path: string;
  readonly header: JournalHeader;
  /** What the first event met. */
  readonly state: State;
  /** Everything after that, in order; read as it is asked for, once. Throws JournalError at a damaged line. */
  readonly records: Iterable<JournalRecord>;
}

/** Every type of event, so that a file of another program is told apart from a journal. */
const EVENT_TYPES: Readonly<Record<Event['type'], true>> = {
  configured: true,
  catalog: true,
  sample: true,
  request: true,
  'request-ended': true,
  spawned: true,
  progress: true,
  ready: true,
  sleeping: true,
  parked: true,
  measured: true,
  corrected: true,
  reported: true,
  margin: true,
  exited: true,
  stalled: true,
  hung: true,
  operator: true,
  timer: true,
  shutdown: true,
};

type Json = Readonly<Record<string, unknown>>;

/** Opens a journal file. Throws JournalError, with one sentence, on one that is no journal, or not one of this program. */
export function readJournal(path: string): Journal {
  const lines = readable(path);
  const header = readHeader(path, lines.next().value);
  const second = lines.next().value;
  const state = second?.finished === true ? parse(path, second)['state'] : null;
  if (!isState(state)) {
    throw new JournalError(`${path}:2: the state that the journal starts with is not there; it cannot be replayed.`);
  }
  return { path, header, state, records: recordsOf(path, lines) };
}

function* readable(path: string): Generator<Line, undefined, undefined> {
  try {
    yield* linesOf(path);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new JournalError(`The journal ${path} cannot be read (${why}).`, { cause });
  }
}

function readHeader(path: string, line: Line | undefined): JournalHeader {
  const header = line?.finished === true ? tryParse(line.text) : null;
  if (header?.['journal'] === undefined) throw new JournalError(`${path} is not a journal of llm-tui.`);
  if (header['journal'] !== JOURNAL_SCHEMA) {
    const by = typeof header['version'] === 'string' ? `llm-tui ${header['version']}` : 'another version of llm-tui';
    throw new JournalError(
      `${path} is a journal of form ${JSON.stringify(header['journal'])}, written by ${by}; this version reads form ${JOURNAL_SCHEMA}.`,
    );
  }
  return header as unknown as JournalHeader;
}

function* recordsOf(path: string, lines: Iterable<Line>): Generator<JournalRecord, void, undefined> {
  let lastSample: SampleEvent | null = null;
  for (const line of lines) {
    const { number } = line;
    if (!line.finished) {
      yield { kind: 'unfinished', line: number };
      return;
    }
    const value = parse(path, line);
    if (typeof value['decided'] === 'string') yield { kind: 'decided', line: number, hash: value['decided'] };
    else if (typeof value['end'] === 'string') yield { kind: 'end', line: number, hash: value['end'] };
    else if (isSampleLine(value)) {
      lastSample = decode(path, number, lastSample, value);
      yield { kind: 'event', line: number, event: lastSample };
    } else if (isEvent(value)) yield { kind: 'event', line: number, event: value };
    else throw damaged(path, number, 'it is no event');
  }
}

function decode(path: string, number: number, previous: SampleEvent | null, line: SampleLine): SampleEvent {
  try {
    return decodeSample(previous, line);
  } catch (cause) {
    throw damaged(path, number, 'its sample does not follow from the one before', cause);
  }
}

function isSampleLine(value: object): value is SampleLine {
  if (!('sample' in value) || !Array.isArray(value.sample)) return false;
  return [0, 1].every((index) => typeof (value.sample as unknown[])[index] === 'number');
}

function isEvent(value: object): value is Event {
  return 'at' in value && 'type' in value && typeof value.type === 'string' && Object.hasOwn(EVENT_TYPES, value.type);
}

/** True for what has every part of a state, each of the kind that it should be. */
function isState(value: unknown): value is State {
  return isLike(value, initialState(DEFAULT_SETTINGS)) && isLike(value.settings, DEFAULT_SETTINGS);
}

function isLike<T extends object>(value: unknown, model: T): value is T {
  if (!isObject(value)) return false;
  return Object.entries(model).every(([key, part]: [string, unknown]) => {
    const other = value[key];
    if (part === null || other === null) return other !== undefined;
    return typeof other === typeof part && Array.isArray(other) === Array.isArray(part);
  });
}

function parse(path: string, { text, number }: Line): Json {
  const value = tryParse(text);
  if (value === null) throw damaged(path, number, 'it is no JSON object');
  return value;
}

function tryParse(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function damaged(path: string, line: number, why: string, cause?: unknown): JournalError {
  return new JournalError(`${path}:${line}: the line is damaged (${why}); the journal can be replayed up to there.`, {
    cause,
  });
}
