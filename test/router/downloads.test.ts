import { resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { fakeHub } from '../support/fake-hub.js';
import { serve, type Served } from '../support/serving.js';
import { tinyGguf } from '../support/tiny-gguf.js';
import { until } from '../support/until.js';

const CHILD = resolve(import.meta.dirname, '../support/fake-llama-server.js');
const FILES = { 'm-Q4_K_M.gguf': tinyGguf(), 'm-Q8_0.gguf': tinyGguf() };

afterEach(() => {
  delete process.env['HF_ENDPOINT'];
});

interface Told {
  readonly model: string;
  readonly event: string;
  readonly data?: { readonly message?: string };
}

/** The events of `/models/sse`, as they come. */
async function listen(served: Served): Promise<{ readonly events: Told[]; end(): void }> {
  const ending = new AbortController();
  const response = await fetch(`${served.url}/models/sse`, { signal: ending.signal });
  const events: Told[] = [];
  void (async () => {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) if (block.startsWith('data: ')) events.push(JSON.parse(block.slice(6)) as Told);
    }
  })().catch(() => undefined);
  return { events, end: () => ending.abort() };
}

async function models(served: Served): Promise<readonly Record<string, unknown>[]> {
  return ((await (await fetch(`${served.url}/models`)).json()) as { data: Record<string, unknown>[] }).data;
}

describe('downloading and removing models over HTTP', () => {
  it('tells how far it is, lists the model when it is there, and takes it away again', async () => {
    await using hub = await fakeHub(FILES);
    process.env['HF_ENDPOINT'] = hub.endpoint;
    await using served = await serve('--llama-server', CHILD);
    const told = await listen(served);
    const started = await served.post('/models', { model: 'org/m:q4_k_m' });
    expect(await started.json()).toEqual({ success: true, model: 'org/m:Q4_K_M' });
    await until('it has come', () => told.events.some(({ event }) => event === 'download_finished'));
    expect(told.events.map(({ event }) => event)).toContain('download_progress');
    expect(await models(served)).toMatchObject([
      { id: 'org/m:Q4_K_M', in_cache: true, source: 'cache', can_remove: true, status: { value: 'unloaded' } },
    ]);
    const again = await served.post('/models', { model: 'org/m:Q4_K_M' });
    expect(again.status).toBe(400);

    expect((await served.post('/models/load', { model: 'org/m:Q4_K_M' })).status).toBe(200);
    await served.until('it runs', (snapshot) => snapshot.models.some(({ word }) => word === 'ready'));
    const removed = await fetch(`${served.url}/models?model=${encodeURIComponent('org/m:Q4_K_M')}`, {
      method: 'DELETE',
    });
    expect(await removed.json()).toEqual({ success: true });
    expect(told.events.map(({ event }) => event)).toContain('model_remove');
    expect(await models(served)).toEqual([]);
    told.end();
  });

  it('lists a download under way, and unloading it cancels it', async () => {
    await using hub = await fakeHub(FILES);
    hub.behave('m-Q8_0.gguf', { endless: true });
    process.env['HF_ENDPOINT'] = hub.endpoint;
    await using served = await serve('--llama-server', CHILD);
    const told = await listen(served);
    await served.post('/models', { model: 'org/m:Q8_0' });
    expect(await models(served)).toMatchObject([{ id: 'org/m:Q8_0', status: { value: 'downloading' } }]);
    expect((await served.post('/models/unload', { model: 'org/m:Q8_0' })).status).toBe(200);
    const failed = await until('it is told', () => told.events.find(({ event }) => event === 'download_failed'));
    expect(failed).toMatchObject({ model: 'org/m:Q8_0', data: { message: 'it was cancelled' } });
    expect(await models(served)).toEqual([]);
    told.end();
  });

  it('refuses what does not exist, and what is not in the cache', async () => {
    await using hub = await fakeHub(FILES);
    process.env['HF_ENDPOINT'] = hub.endpoint;
    await using served = await serve('--llama-server', CHILD);
    expect((await served.post('/models', { model: 'org/none' })).status).toBe(404);
    expect((await served.post('/models', {})).status).toBe(400);
    expect((await fetch(`${served.url}/models?model=nothing`, { method: 'DELETE' })).status).toBe(404);
  });
});
