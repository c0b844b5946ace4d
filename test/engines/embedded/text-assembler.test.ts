import fc from 'fast-check';
import type { Token } from 'node-llama-cpp';
import { describe, expect, it } from 'vitest';
import { createTextAssembler } from '../../../src/engines/embedded/generation/text-assembler.js';

/** A model whose tokens are bytes, so that every character may be torn. */
const bytewise = { detokenize: (tokens: readonly Token[]): string => Buffer.from(tokens).toString() };

function assemble(
  text: string,
  stops: readonly string[],
): { readonly parts: readonly string[]; readonly stopped: boolean } {
  const assembler = createTextAssembler(bytewise, [], { stops });
  const parts: string[] = [];
  for (const byte of Buffer.from(text)) {
    parts.push(assembler.push(byte as Token));
    if (assembler.stopped) break;
  }
  parts.push(assembler.finish());
  return { parts, stopped: assembler.stopped };
}

describe('the text that is streamed', () => {
  it('consists of whole characters and is complete', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const { parts } = assemble(text, []);
        expect(parts.join('')).toBe(text);
        for (const part of parts) expect(part.isWellFormed()).toBe(true);
      }),
    );
  });

  it('ends just before the first stop string and never shows a part of one', () => {
    const { parts, stopped } = assemble('one STOP two', ['STOP', 'two']);
    expect(parts.join('')).toBe('one ');
    expect(stopped).toBe(true);
  });

  it('gives back what only looked like the beginning of a stop string', () => {
    expect(assemble('a STO b ST', ['STOP'])).toMatchObject({ stopped: false });
    expect(assemble('a STO b ST', ['STOP']).parts.join('')).toBe('a STO b ST');
  });

  it('shows bytes that never become a character as a replacement, not for ever held back', () => {
    const assembler = createTextAssembler(bytewise, [], { stops: [] });
    const text = Array.from({ length: 9 }, () => assembler.push(0xff as Token)).join('') + assembler.finish();
    expect(text).toBe('\uFFFD'.repeat(9));
  });
});
