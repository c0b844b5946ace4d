/** A GGUF value with its type: only what the tests need. */
export type GgufValue = string | boolean | number | readonly number[] | readonly string[];

export interface TinyTensor {
  readonly name: string;
  readonly shape: readonly number[];
  /** Number of ggml's tensor type; 0 is F32. */
  readonly type: number;
  readonly offset: number;
}

export interface TinyGguf {
  readonly metadata?: Readonly<Record<string, GgufValue>>;
  readonly tensors?: readonly TinyTensor[];
  /** Bytes of tensor data after the header; what the tensors need when absent. */
  readonly dataBytes?: number;
}

/** A llama with 4 layers, 2 key/value heads of 16 and one F32 tensor of 64 × 4. */
export const SMALL_LLAMA: TinyGguf = {
  metadata: {
    'general.architecture': 'llama',
    'general.file_type': 15,
    'llama.context_length': 4096,
    'llama.block_count': 4,
    'llama.embedding_length': 64,
    'llama.attention.head_count': 4,
    'llama.attention.head_count_kv': 2,
    'tokenizer.ggml.tokens': ['a', 'b', 'c'],
    'tokenizer.chat_template': '{{ messages }}',
  },
  tensors: [{ name: 'token_embd.weight', shape: [64, 4], type: 0, offset: 0 }],
  dataBytes: 1024,
};

/** The bytes of a GGUF file, version 3, little-endian, alignment 32. */
export function tinyGguf({ metadata = {}, tensors = [], dataBytes = 0 }: TinyGguf = SMALL_LLAMA): Buffer {
  const entries = Object.entries(metadata);
  const header = Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(tensors.length),
    u64(entries.length),
    ...entries.flatMap(([key, value]) => [text(key), typed(value)]),
    ...tensors.flatMap(({ name, shape, type, offset }) => [
      text(name),
      u32(shape.length),
      ...shape.map(u64),
      u32(type),
      u64(offset),
    ]),
  ]);
  return Buffer.concat([header, Buffer.alloc((32 - (header.length % 32)) % 32), Buffer.alloc(dataBytes)]);
}

function typed(value: GgufValue): Buffer {
  if (typeof value === 'string') return Buffer.concat([u32(8), text(value)]);
  if (typeof value === 'boolean') return Buffer.concat([u32(7), Buffer.from([value ? 1 : 0])]);
  if (typeof value === 'number') return Buffer.concat([u32(4), u32(value)]);
  const strings = value.some((item) => typeof item === 'string');
  const items = value.map((item) => (typeof item === 'string' ? text(item) : u32(item)));
  return Buffer.concat([u32(9), u32(strings ? 8 : 4), u64(value.length), ...items]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
