import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { gguf } from '@huggingface/gguf';

// Runs in a worker thread: a vocabulary of 200,000 tokens takes the library a quarter of a second without a pause.
// It imports no other file of ours, so that it also runs from its TypeScript source, where Node resolves no `.js` names.

/** What is kept of a header. */
export interface GgufFacts {
  /** Single values and short lists of numbers; long ones (the vocabulary) are left out. */
  readonly metadata: Readonly<Record<string, string | number | boolean | readonly number[]>>;
  readonly parameters: number;
  /** Numbers of ggml's tensor types, with the parameters that each has. */
  readonly parametersByType: Readonly<Record<number, number>>;
  readonly hasChatTemplate: boolean;
  /** The file must be at least this long to hold its last tensor. */
  readonly neededBytes: number;
}

export interface HeaderRequest {
  readonly id: number;
  readonly path: string;
  readonly sizeBytes: number;
}

export type HeaderReply =
  | { readonly id: number; readonly ok: true; readonly facts: GgufFacts }
  | { readonly id: number; readonly ok: false; readonly reason: string };

const MIB = 1024 * 1024;
const LONGEST_HEADER_BYTES = 64 * MIB;
const LIBRARY_RANGE_BYTES = 2_000_000;
/** Lists up to this length are kept: per-layer figures, not vocabularies. */
const LONGEST_LIST = 1024;
const LONGEST_TEXT = 256;

/** Weights in a block and bytes of a block, by number of the tensor type (ggml's `type_traits` table). */
const BLOCKS: Readonly<Record<number, readonly [weights: number, bytes: number]>> = {
  0: [1, 4], // F32
  1: [1, 2], // F16
  2: [32, 18], // Q4_0
  3: [32, 20], // Q4_1
  6: [32, 22], // Q5_0
  7: [32, 24], // Q5_1
  8: [32, 34], // Q8_0
  10: [256, 84], // Q2_K
  11: [256, 110], // Q3_K
  12: [256, 144], // Q4_K
  13: [256, 176], // Q5_K
  14: [256, 210], // Q6_K
  16: [256, 66], // IQ2_XXS
  17: [256, 74], // IQ2_XS
  18: [256, 98], // IQ3_XXS
  19: [256, 50], // IQ1_S
  20: [32, 18], // IQ4_NL
  21: [256, 110], // IQ3_S
  22: [256, 82], // IQ2_S
  23: [256, 136], // IQ4_XS
  24: [1, 1], // I8
  25: [1, 2], // I16
  26: [1, 4], // I32
  27: [1, 8], // I64
  28: [1, 8], // F64
  29: [256, 56], // IQ1_M
  30: [1, 2], // BF16
  34: [256, 54], // TQ1_0
  35: [256, 66], // TQ2_0
  39: [32, 17], // MXFP4
};

class HeaderProblem extends Error {}

parentPort?.on('message', (request: HeaderRequest) => {
  void readHeader(request).then((reply) => parentPort?.postMessage(reply));
});

async function readHeader({ id, path, sizeBytes }: HeaderRequest): Promise<HeaderReply> {
  let descriptor: number | null = null;
  try {
    descriptor = openSync(path, 'r');
    return { id, ok: true, facts: await factsOf(descriptor, sizeBytes) };
  } catch (error) {
    return { id, ok: false, reason: reasonOf(error) };
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

async function factsOf(descriptor: number, sizeBytes: number): Promise<GgufFacts> {
  // What the library asks for first; read once for both.
  const start = readAt(descriptor, 0, Math.min(LIBRARY_RANGE_BYTES, sizeBytes));
  checkStart(start, sizeBytes);
  let beyondEnd = 0;
  // The library asks for ranges as it goes, of a URL that is never fetched. It reads ahead, so that one range beyond the
  // end is no fault; more of them mean that it has taken the zeros there for a header.
  const parsed = await gguf('http://header.invalid/', {
    fetch: async (_url, init) => {
      await Promise.resolve();
      const { first, last } = rangeOf(init);
      if (first >= sizeBytes && ++beyondEnd > 1) throw cutOff(sizeBytes);
      if (last >= LONGEST_HEADER_BYTES) throw new HeaderProblem('has a header of more than 64 MiB');
      const length = Math.max(0, Math.min(last + 1, sizeBytes) - first);
      const bytes =
        first === 0 && length <= start.length ? start.subarray(0, length) : readAt(descriptor, first, length);
      // The two parts of a response that the library looks at: a whole one costs more than reading a small header.
      const headers = new Map([['content-range', `bytes ${first}-${last}/${sizeBytes}`]]);
      return { headers, arrayBuffer: () => Promise.resolve(bytes) } as unknown as Response;
    },
  });
  const headerEnd = parsed.tensorInfoByteRange[1];
  if (headerEnd > sizeBytes) throw cutOff(sizeBytes);
  const dataStart = Number(parsed.tensorDataOffset);
  let neededBytes = headerEnd;
  let parameters = 0;
  const parametersByType: Record<number, number> = {};
  for (const { shape, dtype, offset } of parsed.tensorInfos) {
    const count = shape.reduce((product, length) => product * Number(length), 1);
    const block = BLOCKS[dtype];
    // Of a type that is not in the table only the beginning is known.
    const bytes = block === undefined ? 0 : Math.ceil(count / block[0]) * block[1];
    neededBytes = Math.max(neededBytes, dataStart + Number(offset) + bytes);
    parameters += count;
    parametersByType[dtype] = (parametersByType[dtype] ?? 0) + count;
  }
  if (!Number.isSafeInteger(neededBytes) || !Number.isSafeInteger(parameters)) {
    throw new HeaderProblem('has tensors of impossible size in its header');
  }
  const all = Object.entries(parsed.metadata as Record<string, unknown>);
  return {
    metadata: Object.fromEntries(all.flatMap(([key, value]) => keep(key, value))),
    parameters,
    parametersByType,
    hasChatTemplate: all.some(([key, value]) => key === 'tokenizer.chat_template' && value !== ''),
    neededBytes,
  };
}

/** Checks what the library would take on trust: the magic word, and counts that the file is too short to hold. */
function checkStart(start: Buffer, sizeBytes: number): void {
  if (start.toString('latin1', 0, 4) !== 'GGUF') throw new HeaderProblem(whatElse(start));
  if (start.length < 24) throw cutOff(sizeBytes);
  const littleEndian = (start.readUInt32LE(4) & 0xffff) !== 0;
  const version = littleEndian ? start.readUInt32LE(4) : start.readUInt32BE(4);
  if (version !== 2 && version !== 3)
    throw new HeaderProblem(`has version ${version} of the GGUF format; 2 and 3 can be read`);
  const tensors = littleEndian ? start.readBigUInt64LE(8) : start.readBigUInt64BE(8);
  const keys = littleEndian ? start.readBigUInt64LE(16) : start.readBigUInt64BE(16);
  // The least that a tensor and a key take: lengths, type and offset, with empty names and values.
  if (tensors * 24n + keys * 13n + 24n > BigInt(Math.min(sizeBytes, LONGEST_HEADER_BYTES))) {
    throw new HeaderProblem(
      `claims ${tensors} tensors and ${keys} keys, more than a file of ${mib(sizeBytes)} can hold`,
    );
  }
}

function whatElse(start: Buffer): string {
  const text = start.toString('latin1', 0, 64).toLowerCase();
  if (text.startsWith('version https://git-lfs'))
    return 'is a Git LFS pointer, not the model itself; run `git lfs pull`';
  if (text.startsWith('<!doctype') || text.startsWith('<html')) return 'is a web page, not a model; download it again';
  return 'is not a GGUF file: it does not begin with "GGUF"';
}

function rangeOf(init: RequestInit | undefined): { first: number; last: number } {
  const range = /^bytes=(\d+)-(\d+)$/u.exec((init?.headers as Record<string, string> | undefined)?.['Range'] ?? '');
  return { first: Number(range?.[1] ?? 0), last: Number(range?.[2] ?? 0) };
}

function cutOff(sizeBytes: number): HeaderProblem {
  return new HeaderProblem(`is cut off inside its header, at ${mib(sizeBytes)}`);
}

function readAt(descriptor: number, position: number, length: number): Buffer<ArrayBuffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const got = readSync(descriptor, bytes, filled, length - filled, position + filled);
    if (got === 0) break;
    filled += got;
  }
  return bytes.subarray(0, filled);
}

function keep(key: string, value: unknown): [string, string | number | boolean | number[]][] {
  if (typeof value === 'bigint') return [[key, Number(value)]];
  if (typeof value === 'string') return value.length <= LONGEST_TEXT ? [[key, value]] : [];
  if (typeof value === 'number' || typeof value === 'boolean') return [[key, value]];
  if (!Array.isArray(value) || value.length > LONGEST_LIST) return [];
  const numbers = value.map((item: unknown) => (typeof item === 'bigint' ? Number(item) : item));
  return numbers.every((item) => typeof item === 'number') ? [[key, numbers]] : [];
}

function reasonOf(error: unknown): string {
  if (error instanceof HeaderProblem) return error.message;
  if (error instanceof Error && 'code' in error) {
    if (error.code === 'EACCES' || error.code === 'EPERM') return 'cannot be read: permission denied';
    if (error.code === 'ENOENT') return 'does not exist';
    if (typeof error.code === 'string' && 'syscall' in error) return `cannot be read: ${error.code}`;
  }
  // The library's words may quote the file.
  const text = error instanceof Error ? error.message : String(error);
  return `has a header that cannot be read: ${text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '�').slice(0, LONGEST_TEXT)}`;
}

function mib(bytes: number): string {
  return bytes < MIB ? `${bytes} bytes` : `${(bytes / MIB).toFixed(1)} MiB`;
}
