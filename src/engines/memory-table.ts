import type { DeviceReport } from '../scheduler/events.js';
import type { Bytes, DeviceBytes, DeviceName } from '../scheduler/units.js';
import { isRecord } from './json-record.js';
import type { ChildMemory, MemoryRow } from './messages.js';

const DEVICE_NAME_LIMIT_CHARS = 128;
const DEVICE_ROWS_LIMIT = 256;
/** ggml's names for buffers that lie in system memory. */
const HOST_BUFFER = /^(?:host|cpu|blas)(?:_|$)|_(?:host|mapped|repack)$/iu;

/** Bytes that a model needs of one device, by what they are for. */
export interface DeviceNeed {
  readonly device: DeviceName;
  /** Weights and KV cache: shared between the devices that a model is split over. */
  readonly sharedBytes: Bytes;
  /** Compute buffers: every device has its own. */
  readonly computeBytes: Bytes;
}

/**
 * Reads a child's memory table (untrusted). Null when any row is malformed, since a sum with a hole in it would claim
 * too little. Of a device whose total and free memory make no sense, these are left out.
 */
export function readMemoryTable(value: unknown): ChildMemory | null {
  if (!isRecord(value) || !Array.isArray(value['devices'])) return null;
  const rows = value['devices'] as readonly unknown[];
  if (rows.length > DEVICE_ROWS_LIMIT) return null;
  const devices: MemoryRow[] = [];
  for (const row of rows) {
    const read = readRow(row);
    if (read === null) return null;
    devices.push(read);
  }
  const table = { n_ctx: readCount(value['n_ctx']) ?? 0, devices };
  return Object.values(sumPerDevice(table)).every(Number.isSafeInteger) ? table : null;
}

/**
 * What a table says of each device, in its order; buffers in system memory, under whatever name, are added up under
 * `Host`, which comes last.
 */
export function needsPerDevice({ devices }: ChildMemory): readonly DeviceNeed[] {
  const needs = new Map<DeviceName, DeviceNeed>();
  for (const row of devices) {
    const device = deviceOf(row, devices);
    const before = needs.get(device) ?? { device, sharedBytes: 0, computeBytes: 0 };
    const sharedBytes = before.sharedBytes + row.model + row.context;
    needs.set(device, { device, sharedBytes, computeBytes: before.computeBytes + row.compute });
  }
  const all = [...needs.values()];
  return [...all.filter(({ device }) => device !== 'Host'), ...all.filter(({ device }) => device === 'Host')];
}

/** True for a buffer that lies in system memory, by its name. */
export function isHostBuffer(name: string): boolean {
  return HOST_BUFFER.test(name);
}

/** Bytes on each device: model, context and compute buffers together. */
export function sumPerDevice(table: ChildMemory): DeviceBytes {
  // Not built by assignment: a device called `__proto__` must stay an ordinary key.
  return Object.fromEntries(
    needsPerDevice(table).map(({ device, sharedBytes, computeBytes }) => [device, sharedBytes + computeBytes]),
  );
}

/** What the table says of the devices themselves. */
export function reportsOf({ devices }: ChildMemory): readonly DeviceReport[] {
  return devices.flatMap(({ kind, name, total, free }) =>
    kind !== 'device' || isHostBuffer(name) || total === undefined || free === undefined
      ? []
      : [{ name, totalBytes: total, freeBytes: free }],
  );
}

/** An integer that counts something, or null. */
export function readCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function readRow(row: unknown): MemoryRow | null {
  if (!isRecord(row)) return null;
  const { kind, name } = row;
  if (kind !== 'device' && kind !== 'host' && kind !== 'buffer_type') return null;
  const named = typeof name === 'string' && name !== '' && name.length <= DEVICE_NAME_LIMIT_CHARS;
  const [model, context, compute] = [row['model'], row['context'], row['compute']].map(readCount);
  if (!named || model == null || context == null || compute == null) return null;
  const [total, free] = [readCount(row['total']), readCount(row['free'])];
  const figures = kind === 'device' && total !== null && free !== null && free <= total ? { total, free } : {};
  return { kind, name, ...figures, model, context, compute };
}

function deviceOf({ kind, name }: MemoryRow, rows: readonly MemoryRow[]): DeviceName {
  if (kind === 'host' || isHostBuffer(name)) return 'Host';
  if (kind === 'device') return name;
  // A buffer type is listed apart when no device claims it; most of them are kinds of system memory.
  const owner = rows.find((row) => row.kind === 'device' && (name === row.name || name.startsWith(`${row.name}_`)));
  return owner?.name ?? 'Host';
}
