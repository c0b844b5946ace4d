import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSmall, type Completion, type RunningChild } from './embedded-child.js';

let child: RunningChild;
beforeAll(async () => {
  child = await startSmall({ 'ctx-size': '2048' });
});
afterAll(() => child[Symbol.asyncDispose]());

const ask = async (fields: object, path = '/v1/completions'): Promise<string> => {
  const request = { prompt: 'the memory of', max_tokens: 32, temperature: 0, seed: 1, cache_prompt: false, ...fields };
  const answer = await child.ask<Completion & { content?: string }>(path, request);
  return answer.content ?? answer.choices[0]?.text ?? '';
};
/** The token of a word; the tokenizer itself puts a space in front. */
const tokenOf = async (content: string): Promise<number> => {
  const { tokens } = await child.ask<{ tokens: number[] }>('/tokenize', { content });
  expect(tokens).toHaveLength(1);
  return tokens[0] ?? -1;
};

describe('the options of a request that change which token comes next', () => {
  it('bias tokens by number, as OpenAI does, and by text or never, as llama-server does', async () => {
    const plain = await ask({});
    const word = plain.trim().split(/\W/u)[0] ?? '';
    const token = await tokenOf(word);
    const wanted = await tokenOf('queen');
    expect(await ask({ logit_bias: { [wanted]: 100 } })).toMatch(/^(?: queen)+$/u);
    expect(await ask({ logit_bias: { [token]: -100 } })).not.toBe(plain);
    expect(await ask({ logit_bias: [[token, false]], max_tokens: 1 })).not.toContain(word);
    expect(await ask({ logit_bias: [['queen', 100]] })).toMatch(/queen/u);
  });

  it('penalise what was said before, in the prompt too', async () => {
    const stuck = { logit_bias: [[await tokenOf('queen'), 12]] };
    const repeats = (text: string): number => text.split('queen').length - 1;
    const plain = repeats(await ask(stuck));
    expect(plain).toBeGreaterThan(10);
    for (const penalty of [{ repeat_penalty: 3 }, { presence_penalty: 20 }, { frequency_penalty: 4 }]) {
      expect(repeats(await ask({ ...stuck, ...penalty }))).toBeLessThan(plain);
    }
    // Penalties that look at no token change nothing.
    expect(repeats(await ask({ ...stuck, presence_penalty: 20, repeat_last_n: 0 }))).toBe(plain);
    const prompt = 'queen queen queen';
    expect(await ask({ ...stuck, prompt, presence_penalty: 30, max_tokens: 1 })).not.toContain('queen');
    expect(repeats(await ask({ ...stuck, dry_multiplier: 5, dry_allowed_length: 1 }))).toBeLessThan(plain);
  });

  it('take part: XTC leaves out the likeliest', async () => {
    const request = { temperature: 1, top_k: 2, min_p: 0, top_p: 1 };
    const xtc = { ...request, xtc_probability: 1, xtc_threshold: 0.01 };
    const likeliest = await ask({ max_tokens: 1 });
    for (const seed of [1, 2, 3]) expect(await ask({ ...xtc, seed, max_tokens: 1 })).not.toBe(likeliest);
  });

  it('end an answer by length, also at once', async () => {
    const { choices, usage } = await child.ask<Completion>('/v1/completions', { prompt: 'the', max_tokens: 0 });
    expect(choices[0]).toMatchObject({ text: '', finish_reason: 'length' });
    expect(usage?.completion_tokens).toBe(0);
  });

  it.each([
    ['logit_bias', { logit_bias: { 999999: 1 } }, /not a token/u],
    ['logit_bias of an end', { logit_bias: { 2: 5 } }, /ends an answer.*llama-server/u],
    ['ignore_eos', { ignore_eos: true }, /'ignore_eos'.*llama-server/u],
    ['typical_p', { typical_p: 0.5 }, /'typical_p'/u],
    ['best_of', { best_of: 3 }, /'best_of'/u],
    ['n', { n: 0 }, /'n'/u],
    ['top_p', { top_p: 2 }, /'top_p'/u],
  ])('are refused, never ignored, where they cannot be had: %s', async (_, fields, message) => {
    const response = await child.post('/v1/completions', { prompt: 'a', ...fields });
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: { message: string } }).error.message).toMatch(message);
  });

  it('pass where they ask for nothing special', async () => {
    const neutral = {
      mirostat: 0,
      typical_p: 1,
      n_probs: 0,
      logprobs: false,
      ignore_eos: false,
      samplers: [],
      tools: [],
    };
    expect(await ask(neutral)).toBe(await ask({}));
  });
});

describe("llama-server's own /completion", () => {
  interface Own {
    readonly content: string;
    readonly stop: boolean;
    readonly tokens: readonly number[];
    readonly [name: string]: unknown;
  }

  it('says how it ended, and how long it took', async () => {
    const request = { prompt: 'the sea', n_predict: 6, temperature: 0, return_tokens: true };
    const answer = await child.ask<Own>('/completion', request);
    expect(answer).toMatchObject({
      stop: true,
      stop_type: 'limit',
      tokens_predicted: 6,
      prompt: 'the sea',
      model: 'test/model:small',
      timings: { predicted_n: 6, prompt_ms: expect.any(Number) as number },
    });
    expect(answer.tokens).toHaveLength(6);
    const stop = answer.content.slice(5, 9);
    const stopped = await child.ask<Own>('/completion', { ...request, stop: [stop] });
    expect(stopped).toMatchObject({ stop_type: 'word', stopping_word: stop });
  });

  it('streams its text and then everything else, without [DONE]', async () => {
    const request = { prompt: 'the sea', n_predict: 6, temperature: 0, cache_prompt: false };
    const whole = await child.ask<Own>('/completion', request);
    const text = await (await child.post('/completion', { ...request, stream: true, timings_per_token: true })).text();
    const events = text
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => JSON.parse(event.replace(/^data: /u, '')) as Own);
    expect(events.map(({ content }) => content).join('')).toBe(whole.content);
    expect(events.map(({ stop }) => stop)).toEqual([...Array.from({ length: events.length - 1 }, () => false), true]);
    expect(events[0]).toHaveProperty('timings');
  });

  it('gives a list for several choices', async () => {
    const answers = await child.ask<readonly Own[]>('/completion', { prompt: 'the', n_predict: 2, n: 2 });
    expect(answers.map(({ index }) => index)).toEqual([0, 1]);
  });
});
