import { describe, expect, it } from 'vitest';
import { serve } from '../support/serving.js';
import { simulated } from '../support/preset.js';

const chat = (model: string, tokens: number, stream = false): object => ({
  model,
  stream,
  max_tokens: tokens,
  messages: [{ role: 'user', content: 'hello' }],
});

const MODEL = { 'sim-size': '4GiB', 'sim-load-seconds': 0.1, 'sim-tokens-per-second': 20 };

describe('a request that the operator cancels', () => {
  it('is told so while it waits, while its answer is awaited, and in the middle of a stream', async () => {
    const slow = { ...MODEL, 'sim-load-seconds': 30 };
    await using served = await serve(...simulated('CUDA0=24GiB', { model: MODEL, slow }));
    const error = async (response: Response): Promise<{ code: string; message: string }> =>
      ((await response.json()) as { error: { code: string; message: string } }).error;

    const waiting = served.post('/v1/chat/completions', chat('slow', 2));
    await served.until('it waits', ({ queue }) => queue.some(({ waiters }) => waiters === 1));
    expect((await served.snapshot()).requests).toMatchObject([{ id: 'r1', model: 'slow', waiting: true }]);
    expect((await served.post('/supervisor/cancel', { model: 'slow' })).status).toBe(200);
    expect((await waiting).status).toBe(503);
    expect(await error(await waiting)).toMatchObject({ code: 'request_cancelled' });

    const answered = served.post('/v1/chat/completions', chat('model', 10_000));
    const isBusy = (): Promise<unknown> =>
      served.until('it is busy', ({ models }) => models.find(({ id, requests }) => id === 'model' && requests === 1));
    await isBusy();
    expect((await served.post('/supervisor/cancel', { model: 'model' })).status).toBe(200);
    expect((await answered).status).toBe(503);
    const cancelled = await error(await answered);
    expect(cancelled.message).toContain('cancelled by the operator');
    expect(cancelled, 'there is no record of it').not.toHaveProperty('decision');

    const stream = await served.post('/v1/chat/completions', chat('model', 10_000, true));
    await isBusy();
    const { decisions } = await served.snapshot();
    expect(decisions.map(({ sentence }) => sentence)).toContain('model: 1 being answered: cancelled by the operator');
    const { requests } = await served.snapshot();
    expect(requests).toMatchObject([{ id: 'r3', model: 'model', kind: '/v1/chat/completions', waiting: false }]);
    expect(requests?.[0]?.client).toMatch(/^127\.0\.0\.1:\d+$/u);
    const another = { model: 'model', request: 'r2' };
    expect((await served.post('/supervisor/cancel', another)).status, 'it spares the others').toBe(404);
    expect((await served.post('/supervisor/cancel', { request: 'r3' })).status).toBe(200);
    const text = await stream.text();
    expect(text.split('\n\n').at(-2)).toContain('"code":"request_cancelled"');

    // Nothing of it is left: the model serves as before.
    await served.until('it is idle', ({ models }) =>
      models.find(({ id, requests }) => id === 'model' && requests === 0),
    );
    expect((await served.post('/v1/chat/completions', chat('model', 2))).status).toBe(200);
    expect((await served.post('/supervisor/cancel', { model: 'model' })).status).toBe(409);
    expect((await served.post('/supervisor/cancel', { request: 'r99' })).status).toBe(404);
    expect((await served.post('/supervisor/cancel', { request: 99 })).status).toBe(404);
    expect((await served.post('/supervisor/cancel', {})).status).toBe(400);
  });

  it('is told that its model was stopped, which is no crash, when that is what the operator does', async () => {
    const args = simulated('CUDA0=24GiB', { model: { ...MODEL, 'stop-timeout': 1 } });
    await using served = await serve(...args);
    const answered = served.post('/v1/chat/completions', chat('model', 10_000));
    await served.until('it is busy', ({ models }) => models.find(({ requests }) => requests === 1));
    expect((await served.post('/supervisor/unload', { model: 'model' })).status).toBe(200);
    expect((await answered).status).toBe(503);
    expect(await (await answered).json()).toMatchObject({ error: { code: 'model_stopped' } });
  });

  it('gets an error event of its own kind in a stream of /v1/messages', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', { model: MODEL }));
    const waiting = served.post('/v1/messages', chat('model', 2));
    await served.until('it waits', ({ queue }) => queue.length === 1);
    await served.post('/supervisor/cancel', { model: 'model' });
    expect(await (await waiting).json()).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
  });
});

describe('a model that the operator puts to sleep', () => {
  it('leaves memory, comes back when it is woken or asked, and is refused while it works', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', { model: { ...MODEL, 'sim-load-seconds': 0.4 } }));
    const is = (word: string): Promise<unknown> =>
      served.until(`it is ${word}`, ({ models }) => models[0]?.word === word);
    expect((await served.post('/supervisor/park', { model: 'model' })).status).toBe(409);
    await served.post('/supervisor/load', { model: 'model' });
    await is('ready');
    expect((await served.post('/supervisor/wake', { model: 'model' })).status).toBe(409);
    expect((await served.post('/supervisor/park', { model: 'model' })).status).toBe(200);
    await is('sleeping');
    await served.until('its memory is free', ({ devices }) => devices[0]?.heldBytes === 0);
    expect((await served.post('/supervisor/wake', { model: 'model' })).status).toBe(200);
    await is('ready');
    const stream = await served.post('/v1/chat/completions', chat('model', 10_000, true));
    const refused = await served.post('/supervisor/park', { model: 'model' });
    expect(refused.status).toBe(409);
    expect(((await refused.json()) as { error: { message: string } }).error.message).toContain('once idle');
    await served.post('/supervisor/cancel', { model: 'model' });
    await stream.text();
    await served.until('it is idle', ({ models }) => models[0]?.requests === 0);
    // Its child may see only a moment later that nobody waits for the answer any more: told once is enough all the same.
    expect((await served.post('/supervisor/park', { model: 'model' })).status).toBe(200);
    await is('sleeping');
    expect((await served.post('/v1/chat/completions', chat('model', 2))).status).toBe(200);
  });
});
