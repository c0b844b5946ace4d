import { readCount, readMemoryTable, sumPerDevice } from './memory-table.js';
import type { OutputReader } from './engine.js';
import { isRecord, parseRecord, type JsonRecord } from './json-record.js';
import { CHILD_PREFIX, type ChildMemory, type ChildMessage, type ChildMeta, type MeasuredResult } from './messages.js';

/** What a child says of itself in a `state` message. */
export type ChildState = 'loading' | 'ready' | 'sleeping' | 'measuring';

const STATE_PREFIX = `${CHILD_PREFIX}state:`;
const OLDEST_READY = `${CHILD_PREFIX}ready`;
/** Longer lines are never messages; what reads the stream has already cut them. */
const LINE_LIMIT_CHARS = 1024 * 1024;
const LONGEST_META_CHARS = 256;
const MOST_META = 32;

/**
 * Reads one line of a child's stdout. The line is untrusted: null means that it is a log line, or a message
 * that is malformed or not for us (`downloading`, `measuring` without a result).
 *
 * A `ready` whose memory figures are malformed is still `ready`, with `effective: null`: the child does serve,
 * only its figures cannot be believed. Understands llama-server's router protocol of 2026 and the bare
 * `cmd_child_to_router:ready` of its oldest builds.
 */
export function parseProtocolLine(line: string): ChildMessage | null {
  if (line.length > LINE_LIMIT_CHARS || !line.startsWith(CHILD_PREFIX)) return null;
  const text = line.trimEnd();
  if (text === OLDEST_READY) return { type: 'ready', contextTokens: null, effective: null };
  if (!text.startsWith(STATE_PREFIX)) return null;
  const message = parseRecord(text.slice(STATE_PREFIX.length));
  if (message === null) return null;
  const payload = isRecord(message['payload']) ? message['payload'] : {};
  switch (message['state']) {
    case 'loading':
      return { type: 'loading', progress: readFraction(payload['value']) };
    case 'ready':
      return readReady(payload);
    case 'sleeping':
      return { type: 'sleeping' };
    case 'measuring':
      return readMeasured(payload);
    default:
      return null;
  }
}

/** Reads the messages of one child; they come on its stdout only. */
export function createProtocolReader(): OutputReader {
  return { read: (line, stream) => (stream === 'stdout' ? parseProtocolLine(line) : null) };
}

/** One message of a child to its router, without the line end. */
export function formatProtocolLine(state: ChildState, payload?: object): string {
  return STATE_PREFIX + JSON.stringify(payload === undefined ? { state } : { state, payload });
}

/** The payload of a `measuring` message. */
export function describeMeasured(min: ChildMemory, max: ChildMemory, trainedContextTokens: number | null): object {
  return { result: 'measured', n_ctx_train: trainedContextTokens, min, max };
}

function readReady(payload: JsonRecord): ChildMessage {
  const memory = isRecord(payload['memory']) ? payload['memory'] : {};
  const meta = isRecord(payload['meta']) ? payload['meta'] : {};
  const contextTokens = readCount(memory['n_ctx']) ?? readCount(meta['n_ctx']) ?? readCount(payload['n_ctx']);
  const table = readMemoryTable(memory);
  const said = readMeta(meta);
  return {
    ...{ type: 'ready', contextTokens, effective: table === null ? null : sumPerDevice(table) },
    ...(table === null ? {} : { memory: table }),
    ...(Object.keys(said).length === 0 ? {} : { meta: said }),
  };
}

/** Single values, and no more of them than a client can want. */
function readMeta(meta: JsonRecord): ChildMeta {
  const values = Object.entries(meta).filter((entry): entry is [string, string | number | boolean] => {
    const [, value] = entry;
    return (
      typeof value === 'number' ||
      typeof value === 'boolean' ||
      (typeof value === 'string' && value.length <= LONGEST_META_CHARS)
    );
  });
  return Object.fromEntries(values.slice(0, MOST_META));
}

/** A result that cannot be believed is a failure: the child will not say another. */
function readMeasured(payload: JsonRecord): ChildMessage | null {
  const failed = (error: string): ChildMessage => ({ type: 'measured', result: { result: 'failed', error } });
  switch (payload['result']) {
    case undefined:
      return null;
    case 'failed': {
      const { error } = payload;
      return failed(typeof error === 'string' && error !== '' ? error : 'the child does not say why');
    }
    case 'measured': {
      const [min, max] = [readMemoryTable(payload['min']), readMemoryTable(payload['max'])];
      if (min === null || max === null) return failed('its figures make no sense');
      const trainedContextTokens = readCount(payload['n_ctx_train']);
      const result: MeasuredResult = { result: 'measured', trainedContextTokens, min, max };
      return { type: 'measured', result };
    }
    default:
      return failed('its result makes no sense');
  }
}

function readFraction(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : null;
}
