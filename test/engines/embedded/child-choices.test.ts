import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/until.js';
import { readEvents, startSmall, type Completion, type RunningChild } from './embedded-child.js';

const PROMPT = 'the story of the long road and the small house by the sea '.repeat(8);

let child: RunningChild;
beforeAll(async () => {
  child = await startSmall({ 'ctx-size': '3072', parallel: '3' });
});
afterAll(() => child[Symbol.asyncDispose]());

const textsOf = ({ choices }: Completion): readonly string[] => choices.map(({ text }) => text);

describe('several choices of one answer', () => {
  it('evaluate their prompt once, and count it once', async () => {
    const before = await child.metric('prompt_tokens_total');
    const request = { prompt: PROMPT, n: 3, max_tokens: 12, seed: 5, cache_prompt: false };
    const { usage, choices } = await child.ask<Completion>('/v1/completions', request);
    expect((await child.metric('prompt_tokens_total')) - before).toBe(usage?.prompt_tokens);
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    expect(usage?.completion_tokens).toBeGreaterThan(12);
  });

  it('differ by their seed alone: each is what a request with that seed gives', async () => {
    // Sums differ in their last bits with what else is in a batch; among few tokens that hardly ever decides a draw.
    const request = { prompt: PROMPT, max_tokens: 10, top_k: 3, cache_prompt: false };
    const together = textsOf(await child.ask<Completion>('/v1/completions', { ...request, n: 3, seed: 40 }));
    for (const [choice, text] of together.entries()) {
      expect(textsOf(await child.ask<Completion>('/v1/completions', { ...request, seed: 40 + choice }))).toEqual([
        text,
      ]);
    }
    expect(new Set(together).size).toBe(3);
  });

  it('may be more than there are sequences: the rest follows, and the prompt is still evaluated once', async () => {
    const before = await child.metric('prompt_tokens_total');
    const request = { prompt: PROMPT, n: 7, max_tokens: 6, cache_prompt: false };
    const { choices, usage } = await child.ask<Completion>('/v1/completions', request);
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(textsOf({ choices }).every((text) => text !== '')).toBe(true);
    expect((await child.metric('prompt_tokens_total')) - before).toBe(usage?.prompt_tokens);
  });

  it('stream side by side, each event with the number of its choice', async () => {
    const request = { prompt: PROMPT, n: 3, max_tokens: 30, seed: 1, temperature: 1, stream: true };
    const events = await readEvents<Completion>(await child.post('/v1/completions', request));
    const order = events.flatMap(({ choices }) => choices.map(({ index }) => index));
    expect(new Set(order)).toEqual(new Set([0, 1, 2]));
    // Together: the last one begins before the first one has ended.
    expect(order.indexOf(2)).toBeLessThan(order.lastIndexOf(0));
    const ends = events.flatMap(({ choices }) => choices.filter(({ finish_reason }) => finish_reason !== null));
    expect(ends.map(({ index }) => index).sort()).toEqual([0, 1, 2]);
  });

  it('reach the OpenAI client, whole and as a stream with one usage for all', async () => {
    const client = new OpenAI({ baseURL: `${child.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const request = {
      model: 'any',
      messages: [{ role: 'user' as const, content: 'Hello' }],
      n: 2,
      max_completion_tokens: 8,
    };
    const whole = await client.chat.completions.create(request);
    expect(whole.choices.map(({ message }) => message.content?.length)).toEqual([
      expect.any(Number),
      expect.any(Number),
    ]);
    const stream = await client.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    const texts = ['', ''];
    let usage: OpenAI.CompletionUsage | null = null;
    for await (const chunk of stream) {
      for (const { index, delta } of chunk.choices) texts[index] = (texts[index] ?? '') + (delta.content ?? '');
      usage = chunk.usage ?? usage;
    }
    expect(texts.every((text) => text !== '')).toBe(true);
    expect(usage?.prompt_tokens).toBe(whole.usage?.prompt_tokens);
    expect(usage?.completion_tokens).toBeGreaterThan(8);
  });

  it('never starve each other of sequences, and leave no files behind', async () => {
    const request = { prompt: PROMPT, n: 2, max_tokens: 10 };
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => child.ask<Completion>('/v1/completions', request)),
    );
    expect(answers.every(({ choices }) => choices.length === 2)).toBe(true);
    // Other tests share the directory.
    const leftovers = (): number => readdirSync(tmpdir()).filter((name) => name.startsWith('llm-tui-sequence-')).length;
    await until('no file is left', () => leftovers() === 0);
  });

  it('come all the same where the prompt cannot be copied, evaluated by each', async () => {
    await using homeless = await startSmall({ 'ctx-size': '2048', parallel: '2' }, { TMPDIR: '/does/not/exist' });
    const request = { prompt: PROMPT, n: 2, max_tokens: 12, seed: 9, cache_prompt: false };
    const answer = await homeless.ask<Completion>('/v1/completions', request);
    expect(textsOf(answer)).toEqual(textsOf(await child.ask<Completion>('/v1/completions', request)));
    expect(await homeless.metric('prompt_tokens_total')).toBeGreaterThan(answer.usage?.prompt_tokens ?? Infinity);
  });
});
