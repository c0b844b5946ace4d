import { describe, expect, it } from 'vitest';
import { planContext } from '../../../src/engines/embedded/model/context-size.js';

const plan = (contextTokens: number | null, parallel: number | null, trained: number | null = 32_768): string => {
  const { sequences, tokensPerSequence } = planContext({ contextTokens, parallel, embeddings: false }, trained);
  return `${sequences} x ${tokensPerSequence}`;
};

describe('the context of a child', () => {
  it('is the total that was asked for, divided among the sequences, as llama-server does', () => {
    expect(plan(8192, 4)).toBe('4 x 2048');
    expect(plan(8192, 1)).toBe('1 x 8192');
    expect(plan(0, 2)).toBe('2 x 16384');
  });

  it('can be filled by one request where nobody asked for several, as llama-server lets it', () => {
    expect(plan(8192, null)).toBe('1 x 8192');
    expect(plan(0, null)).toBe('1 x 32768');
  });

  it('is modest where nothing was asked for', () => {
    expect(plan(null, null)).toBe('4 x 4096');
    expect(plan(null, 2)).toBe('2 x 4096');
    expect(plan(null, null, 2048)).toBe('4 x 2048');
    expect(plan(null, null, null)).toBe('4 x 4096');
  });

  it('comes in steps of 256 tokens, and never to nothing', () => {
    expect(plan(1000, 3)).toBe('3 x 512');
    expect(plan(1, 64)).toBe('64 x 256');
  });

  it('is one sequence for embeddings', () => {
    expect(planContext({ contextTokens: 1024, parallel: 4, embeddings: true }, 2048)).toEqual({
      sequences: 1,
      tokensPerSequence: 1024,
    });
  });
});
