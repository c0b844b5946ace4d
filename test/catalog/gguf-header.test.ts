import { execFileSync } from 'node:child_process';
import { statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GgufHeaderReader, ggufHeaders, type FileIdentity, type HeaderReading } from '../../src/catalog/gguf-header.js';
import { tempTree } from '../support/temp-tree.js';
import { SMALL_LLAMA, tinyGguf } from '../support/tiny-gguf.js';

function identify(path: string): FileIdentity {
  const { size, mtimeMs } = statSync(path);
  return { path, sizeBytes: size, modifiedAt: mtimeMs };
}

async function readBytes(bytes: Buffer | string): Promise<HeaderReading> {
  const root = tempTree({ 'm.gguf': bytes });
  return ggufHeaders.read(identify(join(root, 'm.gguf')));
}

/** A header with the given counts and nothing behind them but zeros. */
function claiming(tensors: bigint, keys: bigint, zeros: number): Buffer {
  const bytes = Buffer.alloc(24 + zeros);
  bytes.write('GGUF');
  bytes.writeUInt32LE(3, 4);
  bytes.writeBigUInt64LE(tensors, 8);
  bytes.writeBigUInt64LE(keys, 16);
  return bytes;
}

test('a whole file gives its figures, and the length it must have', async () => {
  const bytes = tinyGguf();
  const reading = await readBytes(bytes);
  expect(reading).toMatchObject({
    ok: true,
    facts: {
      neededBytes: bytes.length,
      parameters: 256,
      parametersByType: { 0: 256 },
      hasChatTemplate: true,
      metadata: { 'general.architecture': 'llama', 'llama.block_count': 4 },
    },
  });
  expect(reading.ok && Object.keys(reading.facts.metadata)).not.toContain('tokenizer.ggml.tokens');
});

test('blocks of quantised tensors are counted whole', async () => {
  // Q4_K: blocks of 256 weights in 144 bytes; 300 weights take two.
  const tensors = [{ name: 't', shape: [300], type: 12, offset: 64 }];
  const bytes = tinyGguf({ ...SMALL_LLAMA, tensors, dataBytes: 64 + 288 });
  expect(await readBytes(bytes)).toMatchObject({ ok: true, facts: { neededBytes: bytes.length } });
});

describe('a header of some megabytes', () => {
  const tokens = Array.from({ length: 150_000 }, (_, index) => `token number ${index}`);
  const bytes = tinyGguf({ ...SMALL_LLAMA, metadata: { ...SMALL_LLAMA.metadata, 'tokenizer.ggml.tokens': tokens } });

  test('is read to its end', async () => {
    expect(bytes.length).toBeGreaterThan(3_000_000);
    expect(await readBytes(bytes)).toMatchObject({ ok: true, facts: { neededBytes: bytes.length } });
  });

  // Around the 2 MB that the library reads at once.
  test.each([1_400_000, 1_900_000, 2_000_000, 2_000_001, 3_000_000])(
    'is refused when cut off at %i bytes',
    async (length) => {
      expect(await readBytes(bytes.subarray(0, length))).toMatchObject({
        ok: false,
        reason: expect.stringMatching(/cut off/) as string,
      });
    },
  );
});

describe('a bad file is a reason', () => {
  const whole = tinyGguf();
  test.each([
    ['no bytes', Buffer.alloc(0), 'is empty (0 bytes)'],
    ['another format', 'PK\u0003\u0004 something else entirely', 'is not a GGUF file: it does not begin with "GGUF"'],
    ['a short text', 'GG', 'is not a GGUF file: it does not begin with "GGUF"'],
    ['a Git LFS pointer', 'version https://git-lfs.github.com/spec/v1\noid sha256:0', /Git LFS pointer/],
    ['a web page', '<!DOCTYPE html><html></html>', /web page/],
    ['only the magic word', 'GGUF', /cut off inside its header, at 4 bytes/],
    ['an old version', Buffer.from('GGUF\u0001\0\0\0' + '\0'.repeat(40)), /has version 1 of the GGUF format/],
    ['a version of the future', Buffer.from('GGUF\u0009\0\0\0' + '\0'.repeat(40)), /has version 9/],
    ['an end inside the keys', whole.subarray(0, 100), /cut off|cannot be read|cannot hold|can hold/],
    [
      'more tensors than fit',
      claiming(1n << 60n, 0n, 1000),
      /claims 1152921504606846976 tensors and 0 keys, more than/,
    ],
    ['more keys than fit', claiming(0n, 1n << 40n, 1000), /more than a file of 1024 bytes can hold/],
  ])('%s', async (_title, bytes, reason) => {
    const reading = await readBytes(bytes);
    expect(reading).toEqual({
      ok: false,
      reason: typeof reason === 'string' ? reason : (expect.stringMatching(reason) as string),
    });
  });

  test('a file that has gone', async () => {
    expect(await ggufHeaders.read({ path: '/nowhere/m.gguf', sizeBytes: 10, modifiedAt: 0 })).toEqual({
      ok: false,
      reason: 'does not exist',
    });
  });

  test('a tensor of impossible size', async () => {
    const side = 2 ** 31;
    const tensors = [{ name: 't', shape: [side, side, side], type: 0, offset: 0 }];
    expect(await readBytes(tinyGguf({ ...SMALL_LLAMA, tensors, dataBytes: 0 }))).toMatchObject({ ok: false });
  });
});

test('any bytes behind the magic word are read or refused, and a good file after them is still read', async () => {
  const root = tempTree({ 'good.gguf': tinyGguf() });
  const path = join(root, 'any.gguf');
  const whole = tinyGguf();
  const noise = fc.uint8Array({ maxLength: 400 }).map((tail) => Buffer.concat([claiming(2n, 2n, 0), tail]));
  const damaged = fc.tuple(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length)).map(([at, byte, length]) => {
    const copy = Buffer.from(whole);
    copy[at] = byte;
    return copy.subarray(0, length);
  });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(noise, damaged), async (bytes) => {
      writeFileSync(path, bytes);
      run += 1;
      const reading = await ggufHeaders.read({ path, sizeBytes: bytes.length, modifiedAt: run });
      if (reading.ok) expect(reading.facts.neededBytes).toBeGreaterThan(0);
      else expect(reading.reason).toMatch(/^(?:is|has|claims|cannot) /u);
    }),
    { numRuns: 300 },
  );
  expect(await ggufHeaders.read(identify(join(root, 'good.gguf')))).toMatchObject({ ok: true });
});

test('a file is read again when its size or time has changed, and only then', async () => {
  const root = tempTree({ 'm.gguf': tinyGguf() });
  const path = join(root, 'm.gguf');
  const reader = new GgufHeaderReader();
  const first = reader.read(identify(path));
  expect(reader.read(identify(path))).toBe(first);
  expect(await first).toMatchObject({ ok: true });
  truncateSync(path, 40);
  utimesSync(path, 1, 1);
  expect(await reader.read(identify(path))).toMatchObject({ ok: false });
});

test.skipIf(process.platform === 'win32')(
  'a file on which the reader hangs costs its own time limit, and the files behind it are read',
  async () => {
    // Opening a pipe that nobody writes to never returns.
    const root = tempTree({ 'good.gguf': tinyGguf() });
    const pipe = join(root, 'pipe.gguf');
    execFileSync('mkfifo', [pipe]);
    const reader = new GgufHeaderReader(1_500);
    const [hung, good] = await Promise.all([
      reader.read({ path: pipe, sizeBytes: 1, modifiedAt: 0 }),
      reader.read(identify(join(root, 'good.gguf'))),
    ]);
    expect(hung).toEqual({ ok: false, reason: 'took longer than 1.5 s to read' });
    expect(good).toMatchObject({ ok: true });
    // Lets the thread that waits for the pipe go.
    execFileSync('sh', ['-c', 'exec 3<>"$0"', pipe]);
  },
);

test('a reader that cannot even start says so of every file, and ends', async () => {
  const reader = new GgufHeaderReader(5_000, new URL('data:text/javascript,throw new Error("no reader here")'));
  const files = Array.from({ length: 50 }, (_, index) => ({ path: `/m/${index}.gguf`, sizeBytes: 1, modifiedAt: 0 }));
  const readings = await Promise.all(files.map((file) => reader.read(file)));
  expect(readings).toHaveLength(50);
  for (const reading of readings)
    expect(reading).toEqual({ ok: false, reason: 'made its reader fail: no reader here' });
});
