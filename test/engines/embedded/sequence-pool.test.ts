import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import { describe, expect, it } from 'vitest';
import { createSequencePool, type SequencePool } from '../../../src/engines/embedded/generation/sequence-pool.js';

const tokens = (...numbers: number[]): Token[] => numbers as Token[];
/** All that the pool wants of a sequence: how much of a prompt it holds. */
const holding = (...held: number[]): LlamaContextSequence =>
  ({
    compareContextTokens: (prompt: Token[]) => ({
      firstDifferentIndex: held.filter((token, index) => prompt[index] === (token as Token)).length,
    }),
  }) as unknown as LlamaContextSequence;

const never = new AbortController().signal;
const PROMPT = tokens(1, 2, 3);
const ids = async (pool: SequencePool, count: number, signal: AbortSignal = never): Promise<readonly number[]> => {
  return (await pool.acquire(PROMPT, count, signal)).map(({ id }) => id);
};
const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  const pending = Symbol('pending');
  await new Promise(setImmediate);
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
};

describe('the sequences of a context', () => {
  it('are given first where the beginning of the prompt lies already', async () => {
    const pool = createSequencePool([holding(), holding(1, 2), holding(1)]);
    expect(await ids(pool, 2)).toEqual([1, 2]);
  });

  it('are given all at once, in order of arrival, so that nobody holds what another one lacks', async () => {
    const pool = createSequencePool([holding(), holding(), holding()]);
    const [first, second] = await Promise.all([pool.acquire(PROMPT, 1, never), pool.acquire(PROMPT, 1, never)]);
    const large = ids(pool, 3);
    const small = ids(pool, 1);
    expect(await settled(small)).toBe(false);
    pool.release(first);
    expect(await settled(large)).toBe(false);
    pool.release(second);
    expect(await large).toHaveLength(3);
    expect(await settled(small)).toBe(false);
    pool.release(pool.slots);
    expect(await small).toHaveLength(1);
  });

  it('are never more than there are', async () => {
    expect(await ids(createSequencePool([holding(), holding()]), 9)).toHaveLength(2);
  });

  it('go to the next one when whoever is first in the queue leaves it', async () => {
    const pool = createSequencePool([holding(), holding()]);
    await pool.acquire(PROMPT, 1, never);
    const gone = new AbortController();
    const large = ids(pool, 2, gone.signal);
    const small = ids(pool, 1);
    expect(pool.waiting).toBe(2);
    gone.abort(new Error('gone'));
    await expect(large).rejects.toThrow('gone');
    expect(await small).toHaveLength(1);
    expect(pool.waiting).toBe(0);
  });
});
