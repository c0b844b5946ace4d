import { describe, expect, it } from 'vitest';
import { connect } from '../../src/client/connect.js';
import { routerSnapshot } from '../../src/client/router-snapshot.js';
import type { Snapshot } from '../../src/client/types.js';
import { startFakeRouter } from '../support/fake-router.js';
import { liveScreen } from '../support/live-screen.js';
import { runProgram, serve, temporaryDirectory } from '../support/serving.js';
import { simulated } from '../support/preset.js';
import { until } from '../support/until.js';

describe('a llama-server router', () => {
  it('is known by what it says of itself, and shown as far as it tells', async () => {
    await using router = await startFakeRouter();
    router.set({ id: 'a', value: 'loaded', n_ctx: 4096 }, { id: 'b', value: 'unloaded', failed: true, exit_code: 1 });
    using live = liveScreen(await connect({ url: router.url }));
    await live.shows(/a +READY +- +-\/ +- +4k +- +-/u);
    await live.shows(/b +FAILED +it ended with exit code 1/u);
    const text = live.text();
    expect(text).toContain('A llama-server router tells which models run');
    expect(text).toContain('a llama-server router does not tell what it decides');
    // No device, no figure, no time is made up.
    expect(text).not.toMatch(/GiB {2}|held|free|up \d|nobody waits| 0s/u);
    live.press('return');
    expect(live.text()).not.toMatch(/pid|generation|GiB|in flight|idle/u);
    live.press('w');
    expect(live.text()).toContain('does not tell why');
    live.press('escape', 'escape', 'q');
    expect(live.text()).toContain('The router was there before this screen');
    expect(live.text()).not.toContain('stop ');
  });

  it('tells of changes at once, and loads and unloads', async () => {
    await using router = await startFakeRouter();
    router.set({ id: 'a', value: 'unloaded' });
    using live = liveScreen(await connect({ url: router.url }));
    await live.shows(/a +UNLOADED/u);
    live.press('l');
    await until('it was asked', () => router.asked.length === 1);
    router.set({ id: 'a', value: 'loading', progress: { value: 0.42 } });
    await live.shows(/a +LOADING .*42%/u);
    router.set({ id: 'a', value: 'loaded' });
    await live.shows(/a +READY/u);
    live.press('u');
    await until('it was asked', () => router.asked.length === 2);
    expect(router.asked).toEqual(['load a', 'unload a']);
    live.press('p', 'U', 'L', 'P', 'm', 'c', 's', 'b');
    expect(router.asked).toHaveLength(2);
    expect(live.session.screen.getState()).toMatchObject({ page: null, dialog: null });
  });

  it('that asks for a key gets it, and says so to whoever has none', async () => {
    await using router = await startFakeRouter('secret');
    router.set({ id: 'a', value: 'loaded' });
    await expect(connect({ url: router.url })).rejects.toThrow('wants an API key');
    const client = await connect({ url: router.url, apiKey: 'secret' });
    const first = await new Promise<Snapshot>((resolve) => {
      client.subscribe((message) => message.type === 'snapshot' && resolve(message.snapshot));
    });
    expect(first.models.map(({ id, word }) => [id, word])).toEqual([['a', 'ready']]);
    client.close();
  });

  it('that goes is lost at once', async () => {
    const router = await startFakeRouter();
    router.set({ id: 'a', value: 'loaded' });
    using live = liveScreen(await connect({ url: router.url }));
    await live.shows(/a +READY/u);
    await router[Symbol.asyncDispose]();
    await live.shows('LOST');
  });

  it('is served by the commands too, which say what it does not have', async () => {
    await using router = await startFakeRouter();
    router.set({ id: 'a', value: 'loaded', n_ctx: 4096 });
    const directory = temporaryDirectory();
    const ps = await runProgram(['ps', router.url], directory);
    expect(ps.stdout).toMatch(/a +READY/u);
    expect(ps.stdout).not.toContain('HELD');
    expect((await runProgram(['unload', 'a', '--url', router.url], directory)).code).toBe(0);
    const pin = await runProgram(['pin', 'a', '--url', router.url], directory);
    expect(pin).toMatchObject({ code: 1 });
    expect(pin.stderr).toContain('a llama-server router has no pin');
  });

  it.each([
    [null, 0],
    ['[]', 0],
    [{ data: [null, 5, {}, { id: '' }, { id: 7 }, { id: 'a', status: 'loaded', aliases: 'x', meta: [] }] }, 1],
  ])('may answer anything: %j', (reply, count) => {
    expect(routerSnapshot({ url: 'http://x:1', props: reply }, reply, 1).models).toHaveLength(count);
  });
});

describe('connecting to a URL', () => {
  it('finds a supervisor, which whoever comes over the network cannot stop', async () => {
    await using served = await serve('--api-key', 'secret', ...simulated('CUDA0=24GiB', { a: { 'sim-size': '2GiB' } }));
    await expect(connect({ url: served.url })).rejects.toThrow('wants an API key');
    using live = liveScreen(await connect({ url: served.url, apiKey: 'secret' }));
    await live.shows(/a +UNLOADED/u);
    live.press('q');
    expect(live.text()).toContain('l leave');
    expect(live.text()).not.toMatch(/s stop|detach/u);
    live.press('s');
    expect(live.outcome()).toBeNull();
    live.press('l');
    expect(live.outcome()?.reason).toBe('left');
  });

  it.each(['', 'single'])('says in one sentence that something else is there (role "%s")', async (role) => {
    await using other = await startFakeRouter(null, role);
    await expect(connect({ url: other.url })).rejects.toThrow(
      /is neither an llm-tui supervisor nor a llama-server router/u,
    );
  });

  it('says in one sentence that nothing is there', async () => {
    await expect(connect({ url: 'http://127.0.0.1:1' })).rejects.toThrow(
      /^Nothing listens at http:\/\/127\.0\.0\.1:1\.$/u,
    );
  });
});
