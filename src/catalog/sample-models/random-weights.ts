/** Fills buffers with reproducible normally distributed 16-bit floats. */
export interface RandomWeights {
  /** Fills `data` (little-endian f16) with mean 0 and the given standard deviation. */
  fill(data: Buffer, deviation: number): void;
}

/** Prime, so that tensors that start anywhere in it do not repeat each other row by row. */
const POOL_LENGTH = 1_048_573;

/**
 * Weights that depend only on the seed. They come from one pool of numbers, read from a different place for each
 * tensor: drawing every weight afresh would make writing a sample model take many times as long.
 */
export function createRandomWeights(seed: number): RandomWeights {
  const uniform = uniformNumbers(seed);
  let pool: Float32Array | null = null;
  const scaled = new Map<number, Buffer>();
  return {
    fill(data, deviation) {
      pool ??= normalNumbers(uniform);
      const bytes = scaled.get(deviation) ?? toHalfFloats(pool, deviation);
      scaled.set(deviation, bytes);
      let from = Math.floor(uniform() * POOL_LENGTH) * 2;
      for (let to = 0; to < data.length;) {
        const copied = bytes.copy(data, to, from);
        to += copied;
        from = 0;
      }
    },
  };
}

function normalNumbers(uniform: () => number): Float32Array {
  // Box and Muller's transformation of two uniform numbers into a normal one.
  return new Float32Array(POOL_LENGTH).map(
    () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform()),
  );
}

function toHalfFloats(values: Float32Array, factor: number): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  values.forEach((value, index) => bytes.writeUInt16LE(toHalfFloat(value * factor), index * 2));
  return bytes;
}

/** Uniform numbers in [0, 1) from Marsaglia's xorshift with 32 bits of state. */
function uniformNumbers(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 0x1_0000_0000;
  };
}

const floatBits = new DataView(new ArrayBuffer(4));

/** The bits of the IEEE half-precision number nearest to zero from `value`; too small ones become zero. */
export function toHalfFloat(value: number): number {
  floatBits.setFloat32(0, value);
  const bits = floatBits.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 127 + 15;
  if (exponent <= 0) return sign;
  if (exponent >= 31) throw new RangeError(`${value} does not fit into a half-precision float`);
  return sign | (exponent << 10) | ((bits >>> 13) & 0x3ff);
}
