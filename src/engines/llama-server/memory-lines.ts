import { MIB, type Bytes, type DeviceName } from '../../scheduler/units.js';
import { isRecord, parseRecord } from '../json-record.js';

/** What a buffer is for, as llama.cpp's own tables of memory count it. */
export type BufferUse = 'model' | 'context' | 'compute';

/** What one log line of llama.cpp tells of memory. */
export type MemoryLine =
  /** A model file is being read: what follows belongs to it. */
  | { readonly kind: 'load'; readonly path: string }
  /** Whether this load is a trial of the fitting, which allocates nothing. */
  | { readonly kind: 'trial'; readonly trial: boolean }
  /** A context is being made for the model that was read last; one model may have several. */
  | { readonly kind: 'context' }
  | {
      readonly kind: 'buffer';
      /** Name of the buffer type, e.g. `CUDA0`, `CUDA_Host`, `CPU_Mapped`. */
      readonly name: string;
      readonly use: BufferUse;
      /** Buffers of the same owner are told apart by this: those of a kind that is told again have been made anew. */
      readonly maker: string;
      /** False for buffers that come one by one and add up. */
      readonly replaces: boolean;
      readonly bytes: Bytes;
    }
  /** Weights of a projector, told before the backend that they go to. */
  | { readonly kind: 'projector'; readonly bytes: Bytes }
  | { readonly kind: 'projector-on'; readonly name: string }
  | { readonly kind: 'device'; readonly name: DeviceName; readonly totalBytes: Bytes; readonly freeBytes: Bytes }
  | { readonly kind: 'using'; readonly name: DeviceName; readonly freeBytes: Bytes };

/** Longer lines tell nothing of memory. */
const LINE_LIMIT_CHARS = 1000;

const BUFFER =
  /^(?:.*?\s)?(\w+):\s+(\S{1,128})\s+(model|KV|RS|LoRA|output|compute|DSV4 \w+ state) buffer size = *(\d{1,9}(?:\.\d{1,6})?) MiB/;
const USING = /using device (\S{1,128}) \(.*\) - (\d{1,9}) MiB free/;
const DEVICE = / - (\S{1,128}) *: .*\((\d{1,9}) MiB, (\d{1,9}) MiB free\)\s*$/;
const LOADED_HEADER = /loaded meta data with \d+ key-value pairs and \d+ tensors from (.+?)(?: \(version |$)/;
const PROJECTOR = /\bclip_model_loader: model size: +(\d{1,9}(?:\.\d{1,6})?) MiB/;
const PROJECTOR_ON = /\bCLIP using (\S{1,128}) backend/;
const NO_ALLOC = /\bno_alloc += ([01])\b/;

/** Reads what llama.cpp says of its buffers, builds of 2025 and 2026; null for every other line. */
export function readMemoryLine(line: string): MemoryLine | null {
  if (line.length > LINE_LIMIT_CHARS) return null;
  if (line.includes(' buffer size = ')) return readBuffer(line);
  if (line.includes(' MiB free')) return readDevice(line);
  if (line.includes('constructing llama_context')) return { kind: 'context' };
  const path = LOADED_HEADER.exec(line)?.[1];
  if (path !== undefined) return { kind: 'load', path };
  const projector = PROJECTOR.exec(line)?.[1];
  if (projector !== undefined) return { kind: 'projector', bytes: Math.round(Number(projector) * MIB) };
  const backend = PROJECTOR_ON.exec(line)?.[1];
  if (backend !== undefined) return { kind: 'projector-on', name: backend };
  const trial = NO_ALLOC.exec(line)?.[1];
  return trial === undefined ? null : { kind: 'trial', trial: trial === '1' };
}

/** The text of a log line, which with `--log-jsonl` is wrapped into an object. */
export function unwrapLogLine(line: string): string {
  if (!line.startsWith('{"') || line.length > LINE_LIMIT_CHARS) return line;
  const record = parseRecord(line);
  return record?.['type'] === 'log' && typeof record['msg'] === 'string' ? record['msg'].trimEnd() : line;
}

/** The rows of a `fit_memory_breakdown` event of `--log-jsonl`, in bytes; null for every other line. */
export function readBreakdown(line: string): readonly unknown[] | null {
  if (!line.startsWith('{') || !line.includes('"fit_memory_breakdown"')) return null;
  const record = parseRecord(line);
  const data = record?.['data'];
  if (record?.['type'] !== 'fit_memory_breakdown' || !isRecord(data) || data['unit'] !== 'MiB') return null;
  const rows: unknown = data['rows'];
  return Array.isArray(rows) ? rows.map(inBytes) : null;
}

function readBuffer(line: string): MemoryLine | null {
  const match = BUFFER.exec(line);
  if (match === null) return null;
  const [, maker = '', name = '', kind = '', figure = ''] = match;
  const replaces = kind === 'compute' || kind === 'output';
  const use = kind === 'model' || kind === 'LoRA' ? 'model' : kind === 'compute' ? 'compute' : 'context';
  const bytes = Math.round(Number(figure) * MIB);
  return { kind: 'buffer', name: deviceOfRemote(name), use, maker: `${maker} ${kind}`, replaces, bytes };
}

/** The buffers of a remote device have its address in their name: `RPC0[10.0.0.2:50052]`. */
function deviceOfRemote(name: string): string {
  return /^(RPC\d+)\[.*\]$/.exec(name)?.[1] ?? name;
}

function readDevice(line: string): MemoryLine | null {
  const using = USING.exec(line);
  if (using !== null) return { kind: 'using', name: using[1] ?? '', freeBytes: Number(using[2]) * MIB };
  const device = DEVICE.exec(line);
  if (device === null) return null;
  const [, name = '', total, free] = device;
  return { kind: 'device', name, totalBytes: Number(total) * MIB, freeBytes: Number(free) * MIB };
}

/** Figures of a row are whole MiB, rounded down: a claim must not be too small. */
function inBytes(row: unknown): unknown {
  if (!isRecord(row)) return row;
  const scaled = (name: string, more: number): unknown => {
    const mib = row[name];
    return typeof mib === 'number' ? (mib + (mib > 0 ? more : 0)) * MIB : mib;
  };
  return {
    kind: row['kind'],
    name: row['name'],
    total: scaled('total', 0),
    free: scaled('free', 0),
    model: scaled('model', 1),
    context: scaled('context', 1),
    compute: scaled('compute', 1),
  };
}
