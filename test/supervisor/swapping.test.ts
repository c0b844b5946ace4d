import { describe, expect, it } from 'vitest';
import { readDevices } from '../../src/client/read-devices.js';
import type { Decision, Snapshot } from '../../src/client/types.js';
import { serve, type Served } from '../support/serving.js';
import { simulated } from '../support/preset.js';

const chat = (model: string, tokens: number, stream = false): object => ({
  model,
  stream,
  max_tokens: tokens,
  messages: [{ role: 'user', content: 'hello' }],
});

const FAST = { 'sim-load-seconds': 0.2 };

/** Evictions so far, oldest first. */
function evictions(snapshot: Snapshot): readonly Decision[] {
  return snapshot.decisions.filter(({ kind }) => kind === 'evict');
}

/** Reads a stream to its end; the text of its last data line. */
async function readStream(response: Response): Promise<string> {
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '));
  return lines.at(-1)?.slice('data: '.length) ?? '';
}

describe('swapping models', () => {
  it('lets a stream finish untouched, then swaps, with one record that says why', async () => {
    const slow = { 'sim-size': '4GiB', 'sim-tokens-per-second': 20, ...FAST };
    await using served = await serve('--models-max', '1', ...simulated('CUDA0=24GiB', { first: slow, second: slow }));
    const stream = await served.post('/v1/chat/completions', chat('first', 30, true));
    const reading = readStream(stream);
    const second = served.post('/v1/chat/completions', chat('second', 2));
    const waiting = await served.until('second waits', ({ queue }) => queue.find(({ model }) => model === 'second'));
    expect(waiting.why).toBe('second: the only place is taken (--models-max 1); first is busy (1)');

    expect(await reading).toBe('[DONE]');
    expect((await second).status).toBe(200);
    const [eviction, ...more] = evictions(await served.snapshot());
    expect(more).toEqual([]);
    expect(eviction).toMatchObject({ model: 'first', forModel: 'second' });
    expect(eviction?.sentence).toContain('the only place is taken (--models-max 1)');
  });

  it('refuses at once with 503 when a pinned model is in the way, naming the pin', async () => {
    const model = { 'sim-size': '4GiB', ...FAST };
    await using served = await serve('--models-max', '1', ...simulated('CUDA0=24GiB', { first: model, second: model }));
    expect((await served.post('/supervisor/pin', { model: 'first' })).status).toBe(200);
    await served.until('first is ready', ({ models }) =>
      models.find(({ id, word }) => id === 'first' && word === 'ready'),
    );
    const refused = await served.post('/v1/chat/completions', chat('second', 2));
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/u);
    const body = (await refused.json()) as { error: { message: string; code: string; decision: Decision } };
    expect(body.error.code).toBe('pinned_models_in_the_way');
    expect(body.error.message).toContain('pinned first is in the way');
    expect(body.error.decision.passedOver).toEqual([{ model: 'first', reason: 'pinned', requests: 0 }]);
  });

  it('never overcommits a device, and evicts only on the device that is short', async () => {
    const on = (device: string, gib: number): Record<string, string | number> => ({
      'sim-size': `${gib}GiB`,
      device,
      ...FAST,
    });
    const models = {
      a: on('CUDA0', 8),
      b: on('CUDA0', 12),
      c: on('CUDA1', 16),
      d: on('CUDA1', 10),
      e: on('CUDA0', 14),
    };
    await using served = await serve(...simulated('CUDA0=24GiB,CUDA1=24GiB', models));
    const watching = watchDevices(served);
    for (let round = 0; round < 2; round += 1) {
      for (const model of Object.keys(models)) {
        expect((await served.post('/v1/chat/completions', chat(model, 1))).status).toBe(200);
      }
    }
    const seen = await watching.stop();
    expect(seen.length).toBeGreaterThan(10);
    for (const device of seen.flatMap(({ devices }) => readDevices(devices))) {
      const { heldBytes, reservedBytes, externalBytes, freeBytes, totalBytes, overcommitBytes } = device;
      expect(heldBytes + reservedBytes + externalBytes + freeBytes).toBe(totalBytes);
      expect(overcommitBytes).toBe(0);
    }
    const snapshot = await served.snapshot();
    expect(snapshot.decisions.filter(({ kind }) => kind === 'out-of-memory')).toEqual([]);
    expect(evictions(snapshot).length).toBeGreaterThan(2);
    for (const { model, plan, ledger } of evictions(snapshot)) {
      const short = ledger.filter(({ deficitBytes }) => deficitBytes > 0).map(({ device }) => device);
      const victim = plan.find((other) => other.model === model);
      expect(Object.keys(victim?.givesBytes ?? {})).toEqual(short);
    }
  });

  it('shares one load among all who ask for it at the same time', async () => {
    await using served = await serve(...simulated('CUDA0=24GiB', { a: { 'sim-size': '4GiB', ...FAST } }));
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => served.post('/v1/chat/completions', chat('a', 1))),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    const { decisions } = await served.snapshot();
    expect(decisions.filter(({ kind }) => kind === 'admit')).toHaveLength(1);
  });

  it('comes back to its pins after a restart', async () => {
    const args = simulated('CUDA0=24GiB', { a: { 'sim-size': '4GiB', ...FAST } });
    await using first = await serve(...args);
    await first.post('/supervisor/pin', { model: 'a' });
    await first.until('a is ready', ({ models }) => models.find(({ word }) => word === 'ready'));
    first.process.kill('SIGTERM');
    await new Promise((resolve) => first.process.once('exit', resolve));
    await using second = await serve(...args, '--state-dir', first.stateDirectory);
    await second.until('a is loaded again', ({ models }) =>
      models.find(({ word, pinned }) => word === 'ready' && pinned),
    );
  });
});

/** Looks at the supervisor's state all the time, until it is stopped. */
function watchDevices(served: Served): { stop(): Promise<readonly Snapshot[]> } {
  const seen: Snapshot[] = [];
  const stopping = new AbortController();
  const done = (async () => {
    while (!stopping.signal.aborted) seen.push(await served.snapshot());
  })();
  return {
    async stop() {
      stopping.abort();
      await done;
      return seen;
    },
  };
}
