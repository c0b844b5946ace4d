import OpenAI, { NotFoundError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readDevices } from '../../src/client/read-devices.js';
import { serve, type Served } from '../support/serving.js';

/** The real client against a real model: random weights, real tokens. */
describe('the openai client against the engine in the box', () => {
  let served: Served;
  let client: OpenAI;

  beforeAll(async () => {
    served = await serve('--engine', 'embedded', '--sample-models');
    client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: 'none', maxRetries: 0 });
  });
  afterAll(() => served[Symbol.asyncDispose]());

  const messages = [{ role: 'user' as const, content: 'Say something.' }];

  it('lists the models', async () => {
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id).sort()).toEqual(['sample-large', 'sample-medium', 'sample-small']);
  });

  it('chats without streaming, loading the model on the way', async () => {
    const reply = await client.chat.completions.create({ model: 'sample-small', messages, max_completion_tokens: 12 });
    expect(reply.model).toBe('sample-small');
    expect(reply.choices[0]?.message.content?.length).toBeGreaterThan(0);
    expect(reply.usage?.completion_tokens).toBeGreaterThan(0);
  });

  it('streams', async () => {
    const stream = await client.chat.completions.create({
      model: 'sample-medium',
      messages,
      max_completion_tokens: 12,
      stream: true,
    });
    let chunks = 0;
    for await (const chunk of stream) chunks += chunk.choices.length;
    expect(chunks).toBeGreaterThan(3);
  });

  it('ends the request of the model at once when the client aborts in the middle of a stream', async () => {
    const params = { model: 'sample-small', messages, max_completion_tokens: 2000, stream: true } as const;
    const stream = await client.chat.completions.create(params);
    for await (const _chunk of stream) break;
    stream.controller.abort();
    await served.until('no request is in flight', ({ models }) => models.every(({ requests }) => requests === 0));
    const slots = (await (await fetch(`${served.url}/slots?model=sample-small`)).json()) as {
      is_processing: boolean;
    }[];
    expect(slots.length).toBeGreaterThan(0);
    const busy = async (): Promise<number> => {
      const now = (await (await fetch(`${served.url}/slots?model=sample-small`)).json()) as {
        is_processing: boolean;
      }[];
      return now.filter(({ is_processing }) => is_processing).length;
    };
    await expect.poll(busy, { timeout: 5000 }).toBe(0);
  });

  it('embeds with a model that was started for it', async () => {
    await using embedding = await serve('--engine', 'embedded', '--sample-models', '--embeddings');
    const other = new OpenAI({ baseURL: `${embedding.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const { data } = await other.embeddings.create({
      model: 'sample-small',
      input: ['one', 'two'],
      encoding_format: 'float',
    });
    expect(data).toHaveLength(2);
    expect(data[0]?.embedding.length).toBeGreaterThan(10);
  });

  it('gets several choices, and JSON of the form it asks for', async () => {
    const { choices, usage } = await client.chat.completions.create({
      model: 'sample-small',
      messages,
      n: 3,
      max_completion_tokens: 8,
    });
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(usage?.completion_tokens).toBeGreaterThan(8);
    const schema = { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] };
    const formed = await client.chat.completions.create({
      model: 'sample-small',
      messages,
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
    });
    expect(JSON.parse(formed.choices[0]?.message.content ?? '')).toEqual({ sure: expect.any(Boolean) as boolean });
  });

  it('does not notice that a model was asleep', async () => {
    await using sleepy = await serve('--engine', 'embedded', '--sample-models', '--sleep-idle-seconds', '1');
    const other = new OpenAI({ baseURL: `${sleepy.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const ask = async (): Promise<string | null | undefined> => {
      const request = { model: 'sample-small', messages, max_completion_tokens: 8, temperature: 0 };
      return (await other.chat.completions.create(request)).choices[0]?.message.content;
    };
    const awake = await ask();
    const word = (name: string): Promise<unknown> =>
      sleepy.until(`it is ${name}`, ({ models }) => models.find(({ id }) => id === 'sample-small')?.word === name);
    await word('sleeping');
    expect(await ask()).toBe(awake);
    await word('sleeping');
  });

  it('gets a typed error for a model that is not there, with the nearest names', async () => {
    const asked = client.chat.completions.create({ model: 'sample-smal', messages });
    await expect(asked).rejects.toBeInstanceOf(NotFoundError);
    await expect(asked).rejects.toMatchObject({ status: 404, code: 'model_not_found', type: 'not_found_error' });
    await expect(asked).rejects.toThrow(/the nearest names are sample-small/u);
  });

  it('shows every model on the Host ledger, whose parts add up', async () => {
    const { devices } = await served.snapshot();
    expect(devices.map(({ name }) => name)).toContain('Host');
    for (const { heldBytes, reservedBytes, externalBytes, freeBytes, totalBytes } of readDevices(devices)) {
      expect(heldBytes + reservedBytes + externalBytes + freeBytes).toBe(totalBytes);
    }
    const host = devices.find(({ name }) => name === 'Host');
    expect(host?.heldBytes).toBeGreaterThan(0);
    expect(host?.externalBytes).toBeGreaterThan(0);
  });
});
