import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulated } from '../support/preset.js';
import { serve, type Served } from '../support/serving.js';

/** What clients of llama-server's router rely on, field by field. */
describe('the answers of llama-server’s router', () => {
  let served: Served;

  beforeAll(async () => {
    const model = { 'sim-size': '1GiB', 'sim-load-seconds': 0, 'ctx-size': 2048 };
    served = await serve(
      ...simulated('CUDA0=10GiB', { first: { ...model, alias: 'uno', tags: 'a,b' }, second: model }),
    );
  });
  afterAll(() => served[Symbol.asyncDispose]());

  const json = async (path: string): Promise<unknown> => (await fetch(served.url + path)).json();

  it('GET /models', async () => {
    const { object, data } = (await json('/models')) as { object: string; data: Record<string, unknown>[] };
    expect([object, data.map(({ id }) => id)]).toEqual(['list', ['first', 'second']]);
    expect(data[0]).toMatchObject({
      aliases: ['uno'],
      tags: ['a', 'b'],
      object: 'model',
      owned_by: 'llamacpp',
      created: expect.any(Number) as number,
      status: {
        value: 'unloaded',
        args: expect.any(Array) as string[],
        preset: expect.stringMatching(/^\[first\]\n/u) as string,
      },
      architecture: { input_modalities: ['text'], output_modalities: ['text'] },
      source: 'preset',
      can_remove: false,
      memory: { min: null, effective: null },
    });
  });

  it('GET /props of the router', async () => {
    expect(await json('/props')).toMatchObject({
      role: 'router',
      max_instances: 0,
      models_autoload: true,
      model_alias: 'llama-server',
      model_path: 'none',
      default_generation_settings: { params: null, n_ctx: 0 },
      cors_proxy_enabled: false,
      build_info: expect.stringMatching(/^llm-tui /u) as string,
    });
  });

  it('POST /models/load and /models/unload, by alias as well', async () => {
    const post = async (path: string, model: string): Promise<[number, unknown]> => {
      const reply = await served.post(path, { model });
      const body = (await reply.json()) as { error?: { type: string } };
      return [reply.status, body.error?.type ?? body];
    };
    expect(await post('/models/load', 'uno')).toEqual([200, { success: true }]);
    await served.until('it is up', ({ models }) => models.some(({ id, word }) => id === 'first' && word === 'ready'));
    expect(await post('/models/load', 'first')).toEqual([400, 'invalid_request_error']);
    expect(await post('/models/load', 'nobody')).toEqual([404, 'not_found_error']);
    expect(await post('/models/unload', 'first')).toEqual([200, { success: true }]);
    await served.until('it has gone', ({ models }) => models.every(({ word }) => word === 'unloaded'));
    expect(await post('/models/unload', 'first')).toEqual([400, 'invalid_request_error']);
  });

  it('GET /models/sse', async () => {
    const controller = new AbortController();
    const { body } = await fetch(`${served.url}/models/sse`, { signal: controller.signal });
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    await served.post('/models/load', { model: 'second' });
    let text = '';
    while (!text.includes('"status":"loaded"')) text += (await reader?.read())?.value ?? '';
    controller.abort();
    const events = [...text.matchAll(/^data: (.*)$/gmu)].map(
      ([, data]) => JSON.parse(data ?? '') as { model: string; event: string },
    );
    expect(events.at(0)).toMatchObject({ model: 'second', event: 'status_change' });
  });

  it.each([
    ['GET', '/metrics', 400],
    ['GET', '/slots', 400],
    ['GET', '/slots?model=second&autoload=false', 404],
    ['GET', '/slots?model=first', 503],
    ['GET', '/cors-proxy', 403],
    ['POST', '/tools', 403],
    ['GET', '/v1/stream', 400],
    ['GET', '/v1/stream?conv_id=nobody', 404],
    ['DELETE', '/v1/stream?conv_id=nobody', 204],
    ['PUT', '/v1/models', 405],
    ['GET', '/File', 404],
  ])('%s %s: %i', async (method, path, status) => {
    const reply = await fetch(served.url + path, { method });
    expect([reply.status, (await reply.text()).length > 0]).toEqual([status, status !== 204]);
  });

  it('finds conversations by the model that answers them', async () => {
    const headers = { 'content-type': 'application/json', 'x-conversation-id': 'conv::1' };
    const body = JSON.stringify({ model: 'second', max_tokens: 1, messages: [] });
    await (await fetch(`${served.url}/v1/chat/completions`, { method: 'POST', headers, body })).text();
    // The simulated child keeps no answers, and says so itself: the request has come to it.
    const resumed = await fetch(`${served.url}/v1/stream?conv_id=conv%3A%3A1`);
    expect(await resumed.json()).toMatchObject({
      error: { message: expect.stringContaining('simulated child') as string },
    });
    expect(await (await served.post('/v1/streams/lookup', { conversation_ids: ['conv::1', 'x'] })).json()).toEqual([]);
    expect((await fetch(`${served.url}/v1/stream?conv_id=conv%3A%3A1`, { method: 'DELETE' })).status).toBe(204);
    expect((await fetch(`${served.url}/v1/stream?conv_id=conv%3A%3A1`)).status).toBe(404);
  });
});
