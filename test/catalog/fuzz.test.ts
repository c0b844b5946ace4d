import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GgufHeaderReader } from '../../src/catalog/gguf-header.js';
import { LLAMA_SERVER_OPTIONS } from '../../src/catalog/llama-server-options.js';
import { readPresetText } from '../../src/catalog/preset-source.js';
import { tempTree } from '../support/temp-tree.js';
import { tinyGguf } from '../support/tiny-gguf.js';

/** `FUZZ_SEED=… npx vitest run test/catalog/fuzz.test.ts` plays a failure again. */
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
const PRESETS = 3500;
const HEADERS = 1500;
/** What reading so many may leave behind, after the first ones have warmed everything up. */
const MOST_GROWTH_BYTES = 64 * 1024 * 1024;

/** Numbers from 0 to below `below`, always the same ones for a seed (mulberry32). */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const PIECES = [
  ...[
    '[a]',
    '[*]',
    '[org/m:q4]',
    '[',
    ']',
    '[ ]',
    '\n',
    '\r\n',
    '\r',
    '\t',
    '  ',
    ' = ',
    '=',
    ';',
    '#',
    '"',
    "'",
    '\\',
  ],
  ...['model', 'ctx-size', 'c', 'no-mmap', 'LLAMA_ARG_CTX_SIZE', 'alias', 'pin', 'priority', 'idle-timeout', 'host'],
  ...[
    'version',
    '__proto__',
    'constructor',
    '~/x',
    '$HOME',
    'true',
    'off',
    '-1',
    '1e999',
    '\u0000',
    '\uFEFF',
    '\uFFFD',
  ],
  ...['\u202E', '😀', 'ä', '99999999999999999999', 'x'.repeat(3000)],
];

function randomPreset(next: (below: number) => number): string {
  const count = next(60);
  const pick = (): string => (next(12) === 0 ? String.fromCharCode(next(0xffff)) : (PIECES[next(PIECES.length)] ?? ''));
  return Array.from({ length: count }, pick).join('');
}

/** A good header with some bytes changed, cut off or repeated: most of it still makes sense, which goes deepest. */
function randomHeader(next: (below: number) => number, good: Buffer): Buffer {
  const bytes = Buffer.from(next(8) === 0 ? good.subarray(0, next(good.length)) : good);
  const extreme = [0n, 1n, 0xffffn, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n];
  for (let change = next(6); change > 0 && bytes.length > 8; change -= 1) {
    const at = next(bytes.length - 8);
    if (next(2) === 0) bytes[at] = next(256);
    else bytes.writeBigUInt64LE(extreme[next(extreme.length)] ?? 0n, at);
  }
  return bytes;
}

describe(`whatever a file holds (FUZZ_SEED=${SEED})`, () => {
  test(`${PRESETS} presets are read without a throw, each thing once`, () => {
    const next = random(SEED);
    let heapBefore = 0;
    for (let run = 0; run < PRESETS; run += 1) {
      if (run === PRESETS / 10) heapBefore = process.memoryUsage().heapUsed;
      const text = randomPreset(next);
      const { models, notices } = readPresetText('/p.ini', text, LLAMA_SERVER_OPTIONS);
      expect(new Set(models.map(({ id }) => id)).size, `run ${run}: ${JSON.stringify(text)}`).toBe(models.length);
      for (const { line, message } of notices) {
        if (line === null || line < 1 || ['\n', '\r', '\u0000', '\u202E'].some((bad) => message.includes(bad))) {
          throw new Error(`run ${run}: ${JSON.stringify({ line, message, text })}`);
        }
      }
    }
    expect(process.memoryUsage().heapUsed - heapBefore).toBeLessThan(MOST_GROWTH_BYTES);
  });

  test(`${HEADERS} headers give facts or a reason, and neither hang nor grow`, async () => {
    const next = random(SEED + 1);
    const root = tempTree({});
    const good = tinyGguf();
    const reader = new GgufHeaderReader();
    let residentBefore = 0;
    for (let run = 0; run < HEADERS; run += 100) {
      if (run === HEADERS / 3) residentBefore = process.memoryUsage.rss();
      const files = Array.from({ length: 100 }, (_, index) => {
        const path = join(root, `${index}.gguf`);
        const bytes = randomHeader(next, good);
        writeFileSync(path, bytes);
        return { path, sizeBytes: bytes.length, modifiedAt: run };
      });
      const readings = await Promise.all(files.map((file) => reader.read(file)));
      for (const reading of readings) {
        if (reading.ok) expect(Number.isSafeInteger(reading.facts.neededBytes)).toBe(true);
        else expect(reading.reason).toMatch(/^(?!took longer)(?!made its reader)\S.*$/u);
      }
    }
    expect(process.memoryUsage.rss() - residentBefore).toBeLessThan(4 * MOST_GROWTH_BYTES);
  });
});
