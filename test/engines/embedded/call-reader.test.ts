import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CallFormat } from '../../../src/engines/embedded/tools/call-format.js';
import { createCallReader, type CallPiece } from '../../../src/engines/embedded/tools/call-reader.js';

const TAGGED: CallFormat = {
  open: '<tool_call>\n{"name": "',
  beforeArguments: () => '", "arguments": ',
  afterArguments: () => '}\n</tool_call>',
  between: '\n<tool_call>\n{"name": "',
  close: '<|im_end|>',
  trigger: '<tool_call>',
  triggersAtStartOnly: false,
};
const NAMES = ['get', 'get_all', 'get-all.here'];

interface Call {
  readonly name: string;
  readonly arguments: string;
}

function write(calls: readonly Call[]): string {
  const texts = calls.map(
    (call) => call.name + TAGGED.beforeArguments(call.name) + call.arguments + TAGGED.afterArguments(call.name),
  );
  return texts.join(TAGGED.between ?? '') + TAGGED.close;
}

function join(pieces: readonly CallPiece[]): readonly Call[] {
  const calls: Call[] = [];
  for (const { index, name, arguments: piece } of pieces) {
    const call = calls[index];
    // The name comes with the first piece of a call, and only then.
    expect(name === null).toBe(call !== undefined);
    calls[index] = { name: call?.name ?? name ?? '', arguments: (call?.arguments ?? '') + piece };
  }
  return calls;
}

const call = fc.record({
  name: fc.constantFrom(...NAMES),
  arguments: fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
});

describe('calls of functions in the text of a model', () => {
  it('are read piece by piece, wherever the pieces are cut', () => {
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: 9 }), (calls, size) => {
        const text = write(calls);
        const reader = createCallReader(TAGGED, NAMES);
        const pieces: CallPiece[] = [];
        for (let at = 0; at < text.length; at += size) pieces.push(...reader.push(text.slice(at, at + size)));
        expect(join(pieces)).toEqual(calls);
        expect(reader.complete).toBe(calls.length);
      }),
    );
  });

  it('come at most once with each piece of text, and as soon as they are certain', () => {
    const reader = createCallReader(TAGGED, NAMES);
    expect(reader.push('get_all", "argu')).toEqual([]);
    expect(reader.push('ments": {"a": "}')).toEqual([{ index: 0, name: 'get_all', arguments: '{"a": "}' }]);
    expect(reader.push('\\""}')).toEqual([{ index: 0, name: null, arguments: '\\""}' }]);
    expect(reader.complete).toBe(1);
  });

  it('are not complete where the text ends too soon', () => {
    const reader = createCallReader(TAGGED, NAMES);
    expect(join(reader.push('get", "arguments": {"a": [1, {}'))).toEqual([{ name: 'get', arguments: '{"a": [1, {}' }]);
    expect(reader.complete).toBe(0);
  });

  it('are one at most where the form knows no more', () => {
    const reader = createCallReader({ ...TAGGED, between: null }, NAMES);
    expect(join(reader.push(write([{ name: 'get', arguments: '{}' }])))).toEqual([{ name: 'get', arguments: '{}' }]);
  });
});
