import type { Bytes, DeviceBytes, DeviceName } from '../scheduler/units.js';
import { CHILD_PREFIX, type ChildMemory, type ChildMessage } from './messages.js';

/** What a child says of itself in a `state` message. */
export type ChildState = 'loading' | 'ready' | 'sleeping';

const STATE_PREFIX = `${CHILD_PREFIX}state:`;
const OLDEST_READY = `${CHILD_PREFIX}ready`;
/** Longer lines are never messages; what reads the stream has already cut them. */
const LINE_LIMIT_CHARS = 1024 * 1024;
const DEVICE_NAME_LIMIT_CHARS = 128;
const DEVICE_ROWS_LIMIT = 256;
/** ggml's names for buffers that lie in system memory. */
const HOST_BUFFER = /^(?:host|cpu|blas)(?:_|$)|_(?:host|mapped|repack)$/iu;

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads one line of a child's stdout. The line is untrusted: null means that it is a log line, or a message
 * that is malformed or not for us (`downloading`, `measuring`).
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
  const message = parseObject(text.slice(STATE_PREFIX.length));
  if (message === null) return null;
  const payload = isObject(message['payload']) ? message['payload'] : {};
  switch (message['state']) {
    case 'loading':
      return { type: 'loading', progress: readFraction(payload['value']) };
    case 'ready':
      return readReady(payload);
    case 'sleeping':
      return { type: 'sleeping' };
    default:
      return null;
  }
}

/** One message of a child to its router, without the line end. */
export function formatProtocolLine(state: ChildState, payload?: object): string {
  return STATE_PREFIX + JSON.stringify(payload === undefined ? { state } : { state, payload });
}

/**
 * Bytes on each device according to a child's memory report: model, context and compute buffers together.
 * Buffers in system memory, under whatever name, are added up under `Host`. Null when any row is malformed,
 * since a sum with a hole in it would claim too little.
 */
export function readEffectiveBytes(memory: unknown): DeviceBytes | null {
  if (!isObject(memory) || !Array.isArray(memory['devices'])) return null;
  const rows = memory['devices'] as readonly unknown[];
  if (rows.length > DEVICE_ROWS_LIMIT) return null;
  const totals = new Map<DeviceName, Bytes>();
  for (const row of rows) {
    if (!isObject(row)) return null;
    const device = readDeviceName(row, rows);
    const sizes = [row['model'], row['context'], row['compute']].map(readCount);
    if (device === null) return null;
    let total = totals.get(device) ?? 0;
    for (const size of sizes) {
      if (size === null) return null;
      total += size;
    }
    if (!Number.isSafeInteger(total)) return null;
    totals.set(device, total);
  }
  // Not built by assignment: a device called `__proto__` must stay an ordinary key.
  return Object.fromEntries(totals);
}

function readReady(payload: Json): ChildMessage {
  const memory = isObject(payload['memory']) ? payload['memory'] : {};
  const meta = isObject(payload['meta']) ? payload['meta'] : {};
  const contextTokens = readCount(memory['n_ctx']) ?? readCount(meta['n_ctx']) ?? readCount(payload['n_ctx']);
  return { type: 'ready', contextTokens, effective: readEffectiveBytes(memory) };
}

function readDeviceName(row: Json, rows: readonly unknown[]): DeviceName | null {
  const kind = row['kind'] as ChildMemory['devices'][number]['kind'] | undefined;
  const name = row['name'];
  if (typeof name !== 'string' || name === '' || name.length > DEVICE_NAME_LIMIT_CHARS) return null;
  switch (kind) {
    case 'host':
      return 'Host';
    case 'device':
      return HOST_BUFFER.test(name) ? 'Host' : name;
    case 'buffer_type':
      // A buffer type is listed apart when no device claims it; most of them are kinds of system memory.
      return HOST_BUFFER.test(name) ? 'Host' : (owningDevice(name, rows) ?? 'Host');
    default:
      return null;
  }
}

function owningDevice(bufferType: string, rows: readonly unknown[]): DeviceName | null {
  for (const row of rows) {
    if (!isObject(row) || row['kind'] !== 'device' || typeof row['name'] !== 'string') continue;
    if (bufferType === row['name'] || bufferType.startsWith(`${row['name']}_`)) return row['name'];
  }
  return null;
}

function readCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function readFraction(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : null;
}

function parseObject(text: string): Json | null {
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
