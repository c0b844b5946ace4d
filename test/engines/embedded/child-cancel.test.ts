import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/until.js';
import { sampleModels, entryFor, startChild, isReady, type RunningChild, type SlotState } from './embedded-child.js';

let child: RunningChild;
beforeAll(async () => {
  const [, , large = ''] = await sampleModels();
  // Small batches, so that a prompt takes many of them; nothing but the context's end would stop an answer.
  child = await startChild(entryFor(large, { 'ctx-size': '2048', 'batch-size': '16' }));
  await child.until(isReady);
});
afterAll(() => child[Symbol.asyncDispose]());

const ENDLESS = { prompt: 'the', max_tokens: -1, stream: true, temperature: 0, grammar: 'root ::= [a-z ]*' };
const LONG_PROMPT = 'the story of the long road and the small house by the sea '.repeat(100);
const slot = async (): Promise<SlotState | undefined> => (await child.get<readonly SlotState[]>('/slots'))[0];

describe('a client that leaves', () => {
  it('stops its answer at the next token', async () => {
    const gone = new AbortController();
    const response = await child.post('/v1/completions', { ...ENDLESS, n: 2 }, gone.signal);
    const reader = response.body?.getReader();
    await reader?.read();
    await until('some tokens are there', async () => ((await slot())?.n_decoded ?? 0) > 3);
    gone.abort();
    const atLeaving = await child.metric('tokens_predicted_total');
    await child.untilIdle();
    // One for what the child did before it could answer how many there were, one for the token in the making.
    expect((await child.metric('tokens_predicted_total')) - atLeaving).toBeLessThanOrEqual(2);
  });

  it('stops the evaluation of its prompt between batches', async () => {
    const gone = new AbortController();
    const before = await child.metric('prompt_tokens_total');
    const asked = child.post('/v1/completions', { prompt: LONG_PROMPT, cache_prompt: false }, gone.signal);
    const settled = asked.catch(() => null);
    await until('the prompt is at work', async () => ((await slot())?.n_prompt_tokens_processed ?? 0) > 0);
    gone.abort();
    await settled;
    await child.untilIdle();
    const evaluated = (await child.metric('prompt_tokens_total')) - before;
    expect(evaluated).toBeGreaterThan(0);
    expect(evaluated).toBeLessThan(800);
  });

  it('gives up its place in the queue, and nothing is done for it', async () => {
    const holding = new AbortController();
    const held = await child.post('/v1/completions', ENDLESS, holding.signal);
    const before = await child.metric('prompt_tokens_total');
    const gone = new AbortController();
    const queued = child.post('/v1/completions', { prompt: LONG_PROMPT }, gone.signal).catch(() => null);
    await until('it waits', async () => (await child.metric('requests_deferred')) === 1);
    gone.abort();
    await queued;
    await until('it has left', async () => (await child.metric('requests_deferred')) === 0);
    holding.abort();
    await held.text().catch(() => null);
    await child.untilIdle();
    expect(await child.metric('prompt_tokens_total')).toBe(before);
  });
});
