import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { writeSampleModels } from '../../../src/catalog/sample-models/sample-models.js';
import {
  entryFor,
  isReady,
  readEvents,
  startChild,
  startSmall,
  type Completion,
  type RunningChild,
  type SlotState,
} from './embedded-child.js';

let directory: string;
let small: string;
let child: RunningChild;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'llm-tui-embedded-'));
  [small = ''] = await writeSampleModels(directory);
  child = await startChild(entryFor(small, { 'ctx-size': '3072', parallel: '3' }));
  await child.until(isReady);
});

afterAll(async () => {
  await child[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

describe('a child of the embedded engine, once ready', () => {
  it('has told its progress, its context and what it holds in system memory', () => {
    const fractions = child.messages.flatMap((message) => (message.type === 'loading' ? [message.progress] : []));
    expect(fractions[0]).toBe(0);
    expect(fractions.at(-1)).toBe(1);
    const ready = child.messages.find((message) => message.type === 'ready');
    expect(ready?.contextTokens).toBe(1024);
    expect(ready?.effective?.['Host']).toBeGreaterThan(12_000_000);
  });

  it('streams the same text that it answers at once, with the usage of all of it', async () => {
    const request = { prompt: 'the memory of', max_tokens: 24, temperature: 0, seed: 7, cache_prompt: false };
    const whole = (await (await child.post('/v1/completions', request)).json()) as Completion;
    const streamed = await child.post('/v1/completions', {
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    const events = await readEvents<Completion>(streamed);
    const text = events.map(({ choices }) => choices[0]?.text ?? '').join('');
    expect(text).toBe(whole.choices[0]?.text);
    expect(events.length).toBeGreaterThan(20);
    expect(events.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason)).at(-1)).toBe('length');
    const usage = events.at(-1)?.usage;
    expect(usage).toMatchObject({ completion_tokens: 24 });
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + 24);
  });

  it('talks to the OpenAI client, in chat and in lists of text parts', async () => {
    const client = new OpenAI({ baseURL: `${child.url}/v1`, apiKey: 'none' });
    const content = [{ type: 'text' as const, text: 'hello' }];
    const messages = [
      { role: 'system' as const, content: 'be kind' },
      { role: 'user' as const, content },
    ];
    const stream = await client.chat.completions.create({
      model: 'any',
      messages,
      max_completion_tokens: 12,
      stream: true,
    });
    let text = '';
    let finish: string | null = null;
    for await (const { choices, model } of stream) {
      expect(model).toBe('test/model:small');
      text += choices[0]?.delta.content ?? '';
      finish = choices[0]?.finish_reason ?? finish;
    }
    expect(text.trim()).not.toBe('');
    expect(finish).toMatch(/stop|length/u);
  });

  it('refuses by its length what cannot fit, before it looks at it, and answers others meanwhile', async () => {
    const text = 'a'.repeat(30_000_000);
    const requests = [
      ['/v1/chat/completions', { messages: [{ role: 'user', content: text }] }],
      ['/apply-template', { messages: [{ role: 'user', content: [{ type: 'text', text }] }] }],
      ['/v1/completions', { prompt: text }],
      ['/completion', { prompt: [text] }],
      ['/tokenize', { content: text }],
    ] as const;
    for (const [path, body] of requests) {
      const response = await child.post(path, body);
      expect(response.status, path).toBe(400);
      expect(await response.text()).toMatch(/The text has 30000000 bytes, more than the \d+ tokens/u);
    }
  });

  it('ends before a stop string, even one that spans tokens, and says so', async () => {
    const request = { prompt: 'the', max_tokens: 60, temperature: 0, cache_prompt: false };
    const free = (await (await child.post('/v1/completions', request)).json()) as Completion;
    const text = free.choices[0]?.text ?? '';
    const stop = text.slice(20, 32);
    const stopped = (await (await child.post('/v1/completions', { ...request, stop })).json()) as Completion;
    expect(stopped.choices[0]).toMatchObject({ text: text.slice(0, text.indexOf(stop)), finish_reason: 'stop' });
  });

  it('gives different answers for different seeds and the same for the same one', async () => {
    const ask = async (seed: number): Promise<string | undefined> => {
      const request = { prompt: 'once upon', max_tokens: 20, temperature: 1, seed, cache_prompt: false };
      return ((await (await child.post('/v1/completions', request)).json()) as Completion).choices[0]?.text;
    };
    const [one, again, other] = [await ask(1), await ask(1), await ask(2)];
    expect(again).toBe(one);
    expect(other).not.toBe(one);
  });

  it('finishes eight streams at once on its three sequences', async () => {
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, seed) =>
        child.post('/v1/completions', { prompt: 'the story of', max_tokens: 40, seed, stream: true }),
      ),
    );
    const streams = await Promise.all(responses.map((response) => readEvents<Completion>(response)));
    for (const events of streams) expect(events.at(-1)?.choices[0]?.finish_reason).toMatch(/stop|length/u);
    await child.untilIdle();
  });

  it('frees the sequences of clients that go away, whether running or waiting', async () => {
    const before = await child.metric('requests_total');
    const gone = new AbortController();
    // Nothing but the context's end would stop these.
    const endless = { prompt: 'the', max_tokens: -1, stream: true, temperature: 0 };
    const requests = Array.from({ length: 5 }, () => child.post('/v1/completions', endless, gone.signal));
    const settled = Promise.allSettled(requests);
    await vi.waitUntil(
      async () => (await child.get<readonly SlotState[]>('/slots')).every(({ n_decoded }) => n_decoded > 2),
      {
        timeout: 20_000,
        interval: 5,
      },
    );
    gone.abort();
    await settled;
    await child.untilIdle();
    expect(await child.metric('requests_total')).toBe(before);
  });

  it('turns text into tokens and back', async () => {
    const content = 'the Größe of 🙂 memory';
    const { tokens } = (await (await child.post('/tokenize', { content })).json()) as { tokens: number[] };
    const back = (await (await child.post('/detokenize', { tokens })).json()) as { content: string };
    expect(back.content).toBe(content);
    const template = await child.post('/apply-template', { messages: [{ role: 'user', content: 'hi' }] });
    expect(await template.json()).toEqual({ prompt: '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n' });
  });

  it.each([
    ['log probabilities', '/v1/completions', { prompt: 'a', logprobs: 1 }, 400, /'logprobs'.*llama-server/u],
    ['a sampler it has not', '/completion', { prompt: 'a', mirostat: 2 }, 400, /'mirostat'.*llama-server/u],
    ['reranking', '/v1/rerank', {}, 501, /llama-server/u],
    [
      'pictures',
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
      400,
      /content/u,
    ],
    ['no messages', '/v1/chat/completions', { messages: [] }, 400, /messages/u],
    ['a token that does not exist', '/detokenize', { tokens: [1_000_000] }, 400, /not a token/u],
    ['a prompt longer than the context', '/v1/completions', { prompt: 'the '.repeat(2000) }, 400, /--ctx-size/u],
    ['embeddings without the flag', '/v1/embeddings', { input: 'a' }, 501, /--embeddings/u],
    ['an unknown path', '/v1/nothing', {}, 404, /\/v1\/nothing/u],
  ])('refuses %s in one sentence of OpenAI shape', async (_, path, body, status, message) => {
    const response = await child.post(path, body);
    expect(response.status).toBe(status);
    const { error } = (await response.json()) as { error: { code: number; message: string; type: string } };
    expect(error).toMatchObject({ code: status, message: expect.stringMatching(message) as string });
    expect(error.message).not.toContain('\n');
  });

  it('refuses a body that is not JSON', async () => {
    const response = await fetch(`${child.url}/v1/completions`, { method: 'POST', body: '{"prompt":' });
    expect(response.status).toBe(400);
  });
});

describe('a child started for embeddings', () => {
  let embedder: RunningChild;
  beforeAll(async () => {
    embedder = await startSmall({ embeddings: true, 'ctx-size': '256', 'sleep-idle-seconds': '1' });
  });
  afterAll(() => embedder[Symbol.asyncDispose]());

  interface Embeddings {
    readonly data: readonly { readonly index: number; readonly embedding: number[] | string }[];
    readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number };
  }

  it('gives unit vectors to the OpenAI client, the same for the same text', async () => {
    const client = new OpenAI({ baseURL: `${embedder.url}/v1`, apiKey: 'none' });
    const { data } = await client.embeddings.create({ model: 'any', input: ['the sun', 'the sun', 'a dog'] });
    const [first, second, third] = data.map(({ embedding }) => embedding);
    expect(first).toHaveLength(256);
    expect(Math.hypot(...(first ?? []))).toBeCloseTo(1, 4);
    expect(second).toEqual(first);
    expect(third).not.toEqual(first);
    expect((await embedder.post('/v1/completions', { prompt: 'a' })).status).toBe(501);
  });

  it('takes lists of tokens as well as texts, and answers in base64 where asked to', async () => {
    const { tokens } = await embedder.ask<{ tokens: number[] }>('/tokenize', { content: 'the sun' });
    const texts = await embedder.ask<Embeddings>('/v1/embeddings', { input: ['the sun', 'a dog'] });
    const lists = await embedder.ask<Embeddings>('/v1/embeddings', { input: [tokens, tokens] });
    expect(lists.data[0]?.embedding).toEqual(texts.data[0]?.embedding);
    expect(texts.usage.total_tokens).toBe(texts.usage.prompt_tokens);
    const coded = await embedder.ask<Embeddings>('/v1/embeddings', { input: 'the sun', encoding_format: 'base64' });
    const bytes = Buffer.from(String(coded.data[0]?.embedding), 'base64');
    expect(bytes.readFloatLE(0)).toBeCloseTo(Number(texts.data[0]?.embedding[0]), 6);
  });

  it.each([
    ['fewer dimensions', { input: 'a', dimensions: 8 }, /'dimensions'.*llama-server/u],
    ['a text that is too long', { input: ['a', 'the '.repeat(300)] }, /Input 1 has \d+ tokens/u],
    ['nothing', { input: [] }, /'input'/u],
  ])('refuses %s', async (_, body, message) => {
    const response = await embedder.post('/v1/embeddings', body);
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: { message: string } }).error.message).toMatch(message);
  });

  it('sleeps and wakes like any other', async () => {
    const before = await embedder.ask<Embeddings>('/v1/embeddings', { input: 'the sun' });
    await embedder.until(({ type }) => type === 'sleeping');
    expect((await embedder.ask<Embeddings>('/v1/embeddings', { input: 'the sun' })).data).toEqual(before.data);
  });
});
