import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { corpus, layOut, ourAnswer, type StockAnswer } from '../support/corpus.js';
import { tempTree } from '../support/temp-tree.js';

/** Where we differ on purpose from what a llama-server answered, with what we then say about it. */
const DIFFERENCES: Readonly<Record<string, RegExp | null>> = {
  // llama-server does not start.
  '34-no-variable': /unknown key "LLAMA_ARG_NO_WARMUP"/u,
  '50-alias-clash': /alias "same" of "b" is left out/u,
  '51-alias-is-a-name': /alias "a" of "b" is left out/u,
  '54-our-keys': null,
  '55-unknown-key': /unknown key "ctx_size".*section "a" is left out/u,
  '56-unknown-key-for-all': /unknown key "ctx-sizes".*the key is left out/u,
  '58-no-value-line': /cannot be read and is left out: "ctx-size"/u,
  '59-indented-key': /cannot be read and is left out/u,
  '60-dashed-key': /cannot be read and is left out/u,
  '61-byte-order-mark': /begins with a byte order mark/u,
  '66-header-without-a-name': /is no section header/u,
  '67-words-behind-a-header': /is no section header/u,
  '68-value-without-a-key': /cannot be read and is left out/u,
  // It starts, with models that cannot be loaded.
  '57-no-model': /section "a" is left out: it names no model/u,
  // It reads a header on to the next bracket, over the ends of lines.
  '62-broken-header': /is no section header/u,
  leftovers: /its name begins with a dot/u,
  // Shards are one model, and one is chosen by rule, whatever order the directory comes in.
  'shards-at-the-top': null,
  'two-candidates': /several files for the model: "two.gguf" is taken/u,
};

describe('every preset and directory means what a llama-server made of it', () => {
  test.each(corpus().map((one) => [one.name, one] as const))('%s', async (name, one) => {
    const stock = JSON.parse(readFileSync(one.answerPath, 'utf8')) as StockAnswer;
    const root = tempTree({});
    const ours = await ourAnswer(layOut(one, root), root);
    const expected = DIFFERENCES[name];
    if (expected === undefined) {
      expect({ models: ours.models }).toEqual(stock);
      return;
    }
    expect({ models: ours.models }).not.toEqual(stock);
    if (expected !== null) expect(ours.notices).toContainEqual(expect.stringMatching(expected));
  });

  test('the corpus is what it is said to be', () => {
    const all = corpus();
    expect(all.filter(({ tree }) => tree === null).length).toBeGreaterThanOrEqual(60);
    expect(all.filter(({ tree }) => tree !== null).length).toBeGreaterThanOrEqual(10);
    const names = new Set(all.map(({ name }) => name));
    expect(Object.keys(DIFFERENCES).filter((name) => !names.has(name))).toEqual([]);
  });
});
