import { open } from 'node:fs/promises';
import type { Bytes } from '../../scheduler/units.js';

/** A metadata value with its GGUF type (version 3 of the format, as ggml's `gguf.h` defines it). */
export type GgufValue =
  | { readonly type: 'uint32' | 'int32' | 'float32'; readonly value: number }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'int32[]' | 'float32[]'; readonly value: readonly number[] }
  | { readonly type: 'string[]'; readonly value: readonly string[] };

/** A tensor and how its data comes about; dimensions are in ggml's order, the contiguous one first. */
export interface GgufTensor {
  readonly name: string;
  readonly dimensions: readonly number[];
  readonly type: 'F32' | 'F16';
  /** Fills the whole of `data`, which is as long as the tensor. */
  readonly fill: (data: Buffer) => void;
}

export interface GgufContent {
  readonly metadata: Readonly<Record<string, GgufValue>>;
  readonly tensors: readonly GgufTensor[];
}

const VERSION = 3;
/** The format's default for `general.alignment`. */
const ALIGNMENT_BYTES = 32;
const TENSOR_TYPE = { F32: 0, F16: 1 } as const;
const ELEMENT_BYTES = { F32: 4, F16: 2 } as const;
const VALUE_TYPE = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const;

/** Everything before the tensor data, padded; equal content gives equal bytes. */
export function encodeGgufHeader(content: GgufContent): Buffer {
  const entries = Object.entries(content.metadata);
  const parts = [Buffer.from('GGUF'), uint32(VERSION), uint64(content.tensors.length), uint64(entries.length)];
  for (const [key, value] of entries) parts.push(text(key), ...encodeValue(value));
  let offset = 0;
  for (const tensor of content.tensors) {
    parts.push(text(tensor.name), uint32(tensor.dimensions.length), ...tensor.dimensions.map(uint64));
    parts.push(uint32(TENSOR_TYPE[tensor.type]), uint64(offset));
    offset += aligned(tensorBytes(tensor));
  }
  const header = Buffer.concat(parts);
  return Buffer.concat([header, Buffer.alloc(aligned(header.length) - header.length)]);
}

/** Size of the file that `writeGguf` makes of this content. */
export function ggufFileBytes(content: GgufContent): Bytes {
  const data = content.tensors.reduce((sum, tensor) => sum + aligned(tensorBytes(tensor)), 0);
  return encodeGgufHeader(content).length + data;
}

/** Writes a new file, one tensor at a time; rejects when it exists already, or with the file system's error. */
export async function writeGguf(path: string, content: GgufContent): Promise<void> {
  await using file = await open(path, 'wx');
  await file.writeFile(encodeGgufHeader(content));
  for (const tensor of content.tensors) {
    const length = tensorBytes(tensor);
    const data = Buffer.alloc(aligned(length));
    tensor.fill(data.subarray(0, length));
    await file.writeFile(data);
  }
  await file.sync();
}

function tensorBytes(tensor: GgufTensor): Bytes {
  return tensor.dimensions.reduce((product, size) => product * size, 1) * ELEMENT_BYTES[tensor.type];
}

function aligned(bytes: Bytes): Bytes {
  return Math.ceil(bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
}

function encodeValue(value: GgufValue): Buffer[] {
  switch (value.type) {
    case 'uint32':
      return [uint32(VALUE_TYPE.uint32), uint32(value.value)];
    case 'int32':
      return [uint32(VALUE_TYPE.int32), int32(value.value)];
    case 'float32':
      return [uint32(VALUE_TYPE.float32), float32(value.value)];
    case 'bool':
      return [uint32(VALUE_TYPE.bool), Buffer.from([value.value ? 1 : 0])];
    case 'string':
      return [uint32(VALUE_TYPE.string), text(value.value)];
    case 'int32[]':
      return [...arrayHead(VALUE_TYPE.int32, value.value.length), ...value.value.map(int32)];
    case 'float32[]':
      return [...arrayHead(VALUE_TYPE.float32, value.value.length), ...value.value.map(float32)];
    case 'string[]':
      return [...arrayHead(VALUE_TYPE.string, value.value.length), ...value.value.map(text)];
  }
}

function arrayHead(elementType: number, length: number): Buffer[] {
  return [uint32(VALUE_TYPE.array), uint32(elementType), uint64(length)];
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}
