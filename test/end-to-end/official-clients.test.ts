import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Anthropic, { NotFoundError as AnthropicNotFound } from '@anthropic-ai/sdk';
import OpenAI, { APIConnectionTimeoutError, APIUserAbortError, AuthenticationError, NotFoundError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulated } from '../support/preset.js';
import { serve, temporaryDirectory, type Served } from '../support/serving.js';
import { tinyGguf } from '../support/tiny-gguf.js';

const HARSH_CHILD = resolve(import.meta.dirname, '../support/harsh-child.js');
const KEY = 'a-key';
const messages = [{ role: 'user' as const, content: 'Say something.' }];

const nothingInFlight = (served: Served): Promise<unknown> =>
  served.until('nothing is in flight', ({ models, queue }) => {
    return queue.length === 0 && models.every(({ requests }) => requests === 0);
  });

describe.each([
  {
    engine: 'sim',
    model: 'sample-small',
    args: () =>
      simulated('CUDA0=10GiB', {
        'sample-small': { 'sim-size': '1GiB', 'sim-load-seconds': 1, 'sim-tokens-per-second': 100 },
      }),
  },
  { engine: 'embedded', model: 'sample-small', args: () => ['--engine', 'embedded', '--sample-models'] },
])('the openai client and the $engine engine', ({ model, args }) => {
  let served: Served;
  let client: OpenAI;

  beforeAll(async () => {
    served = await serve(...args());
    client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: KEY, maxRetries: 0 });
  });
  afterAll(() => served[Symbol.asyncDispose]());

  it('chat, in one piece and in a stream', async () => {
    const whole = await client.chat.completions.create({ model, messages, max_completion_tokens: 5 });
    expect(whole.choices[0]?.message.content?.length).toBeGreaterThan(0);
    const stream = await client.chat.completions.create({ model, messages, max_completion_tokens: 5, stream: true });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text.length).toBeGreaterThan(0);
  });

  it('retrieve the model that they were told of', async () => {
    expect(await client.models.retrieve(model)).toMatchObject({ id: model, object: 'model' });
    await expect(client.models.retrieve('no/such model')).rejects.toBeInstanceOf(NotFoundError);
  });

  it('end a request of the model with an abort, and with a time limit', async () => {
    const params = { model, messages, max_completion_tokens: 5000 };
    // A model that has to load first takes long enough for both.
    const unload = async (): Promise<void> => {
      await served.post('/models/unload', { model });
      await served.until('it has gone', ({ models }) => models.every(({ word }) => word === 'unloaded'));
    };
    await unload();
    const controller = new AbortController();
    const aborted = client.chat.completions.create(params, { signal: controller.signal });
    const outcome = expect(aborted).rejects.toBeInstanceOf(APIUserAbortError);
    await served.until('it loads for it', ({ models }) => models.some(({ word }) => word === 'loading'));
    controller.abort();
    await outcome;
    await nothingInFlight(served);
    await unload();
    const late = client.chat.completions.create(params, { timeout: 30 });
    await expect(late).rejects.toBeInstanceOf(APIConnectionTimeoutError);
    await nothingInFlight(served);
  });

  it('get typed errors', async () => {
    await expect(client.chat.completions.create({ model: 'nobody', messages })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      type: 'not_found_error',
    });
  });
});

describe('the clients and a router with a key', () => {
  let served: Served;
  let anthropic: Anthropic;

  beforeAll(async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'one.gguf'), tinyGguf());
    served = await serve('--llama-server', HARSH_CHILD, '--models-dir', directory);
    anthropic = new Anthropic({ baseURL: served.url, apiKey: KEY, maxRetries: 0 });
  });
  afterAll(() => served[Symbol.asyncDispose]());

  it('openai is told that its key is wrong', async () => {
    await using guarded = await serve(...simulated('CUDA0=1GiB', { a: { 'sim-size': '1MiB' } }), '--api-key', 'other');
    const client = new OpenAI({ baseURL: `${guarded.url}/v1`, apiKey: KEY, maxRetries: 0 });
    await expect(client.models.list()).rejects.toBeInstanceOf(AuthenticationError);
    const other = new Anthropic({ baseURL: guarded.url, apiKey: KEY, maxRetries: 0 });
    await expect(other.messages.create({ model: 'a', max_tokens: 1, messages })).rejects.toMatchObject({
      status: 401,
      error: { type: 'error', error: { type: 'authentication_error' } },
    });
  });

  it('openai embeds with simulated models', async () => {
    await using sim = await serve(...simulated('CUDA0=10GiB', { a: { 'sim-size': '1MiB' } }));
    const client = new OpenAI({ baseURL: `${sim.url}/v1`, apiKey: KEY, maxRetries: 0 });
    const { data } = await client.embeddings.create({ model: 'a', input: ['x', 'y'], encoding_format: 'float' });
    expect(data).toHaveLength(2);
  });

  it('anthropic speaks with a model, in one piece and in a stream', async () => {
    const whole = await anthropic.messages.create({ model: 'one', max_tokens: 5, messages });
    expect(whole.content).toEqual([{ type: 'text', text: 'Hello there' }]);
    const stream = anthropic.messages.stream({ model: 'one', max_tokens: 5, messages });
    expect(await stream.finalText()).toBe('Hello there');
  });

  it('anthropic gets its own errors: before an answer, and in the middle of one', async () => {
    const unknown = anthropic.messages.create({ model: 'onne', max_tokens: 5, messages });
    await expect(unknown).rejects.toBeInstanceOf(AnthropicNotFound);
    await expect(unknown).rejects.toThrow(/the nearest names are one/u);
    const dying = anthropic.messages.stream({ model: 'one', max_tokens: 5, messages, system: 'die' });
    await expect(dying.finalText()).rejects.toThrow(/model_died|ended before it had answered/u);
  });
});
