import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { writeExternal } from '../../../src/devices/sim-ledger.js';
import { GIB, MIB } from '../../../src/scheduler/units.js';
import { watch } from '../../support/node-child.js';
import { SimWorld, simEntry, type SimChild } from '../../support/sim-world.js';
import { until } from '../../support/until.js';

const TWO = [
  { name: 'CUDA0', totalBytes: 24 * GIB },
  { name: 'CUDA1', totalBytes: 24 * GIB },
];
const QUICK = { 'sim-load-seconds': '0.2' };

const worlds: SimWorld[] = [];

function world(...options: ConstructorParameters<typeof SimWorld>): SimWorld {
  const made = new SimWorld(...options);
  worlds.push(made);
  return made;
}

afterEach(async () => {
  for (const made of worlds.splice(0)) await made.end();
});

const ready = (child: SimChild): Promise<unknown> =>
  until('the child is ready', () => {
    if (child.exits.length > 0) throw new Error(child.handle.lines().join('\n'));
    return child.messages.some(({ type }) => type === 'ready');
  });

describe('the memory of a simulated child', () => {
  it('appears bit by bit while it loads, with progress', async () => {
    const w = world(TWO);
    const child = await w.start('a', { 'sim-size': '10GiB', 'sim-load-seconds': '1' });
    const amounts: number[] = [];
    await until('it is loaded', async () => {
      const amount = await w.used('CUDA0');
      if (amount !== amounts.at(-1)) amounts.push(amount);
      return child.messages.some(({ type }) => type === 'ready');
    });
    expect(amounts.length).toBeGreaterThan(3);
    expect(amounts).toEqual(amounts.toSorted((a, b) => a - b));
    expect(await w.used('CUDA0')).toBe(10 * GIB);
    const progress = child.messages.flatMap((message) => (message.type === 'loading' ? [message.progress] : []));
    expect(progress).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]);
  });

  it('is what it says when it is ready, and is attributed to it', async () => {
    const w = world(TWO);
    const child = await w.start('a', { ...QUICK, 'sim-size': '3GiB', 'ctx-size': '8192' }, ['CUDA1']);
    await ready(child);
    expect(child.messages.at(-1)).toMatchObject({ type: 'ready', contextTokens: 8192, effective: { CUDA1: 3 * GIB } });
    const { instances, devices } = await w.sample();
    expect(instances).toEqual([{ model: String(child.pid), generation: 1, resident: { CUDA0: 0, CUDA1: 3 * GIB } }]);
    expect(devices.map(({ usedBytes }) => usedBytes)).toEqual([0, 3 * GIB]);
  });

  it('is split evenly over the devices it is given', async () => {
    const w = world(TWO);
    const child = await w.start('a', { ...QUICK, 'sim-size': '30GiB', device: 'CUDA0,CUDA1' });
    await ready(child);
    expect(await Promise.all(['CUDA0', 'CUDA1'].map((name) => w.used(name)))).toEqual([15 * GIB, 15 * GIB]);
  });

  it('comes back late, and until then is still counted as its own', async () => {
    const w = world(TWO, 1000);
    const child = await w.start('a', { ...QUICK, 'sim-size': '3GiB' });
    await ready(child);
    child.handle.kill();
    await child.exited;
    const exitedAt = performance.now();
    const { instances } = await w.sample();
    expect(instances[0]?.resident).toEqual({ CUDA0: 3 * GIB, CUDA1: 0 });
    await until('the memory is back', async () => (await w.used('CUDA0')) === 0);
    expect(performance.now() - exitedAt).toBeGreaterThan(900);
  });

  it('is given back after a while without work, and taken again for the next', async () => {
    const w = world(TWO);
    const child = await w.start('a', { ...QUICK, 'sim-size': '3GiB', 'sleep-idle-seconds': '0.3' });
    await ready(child);
    await until('it sleeps', () => child.messages.at(-1)?.type === 'sleeping');
    expect(await w.used('CUDA0')).toBe(0);
    expect((await fetch(`${child.url}/health`)).status, 'looking does not wake it').toBe(200);
    expect(await w.used('CUDA0')).toBe(0);
    const body = JSON.stringify({ content: 'wake up' });
    expect((await fetch(`${child.url}/tokenize`, { method: 'POST', body })).status).toBe(200);
    expect(child.messages.at(-1)).toEqual({ type: 'ready', contextTokens: null, effective: null });
    expect(await w.used('CUDA0')).toBe(3 * GIB);
    await until('it sleeps again', () => child.messages.at(-1)?.type === 'sleeping');
  });

  it('is refused when others hold the rest, in the words of a real child', async () => {
    const w = world(TWO);
    writeExternal(w.ledgerDirectory, { CUDA0: 22 * GIB });
    const child = await w.start('a', { ...QUICK, 'sim-size': '4GiB' });
    const exit = await child.exited;
    expect(exit).toMatchObject({ exitCode: 1, asked: false });
    expect(exit.lastLines.join('\n')).toContain('allocating 2048.00 MiB on device 0: cudaMalloc failed: out of memory');
    expect(w.engine.classify(exit)).toEqual({
      exitClass: 'out-of-memory',
      reason: 'out of memory on CUDA0: asked for 2.0 GiB',
      device: 'CUDA0',
      // Two of its four it has already.
      askedBytes: 2 * GIB,
    });
  });

  it('is never given to two children that cannot both have it', async () => {
    const w = world([{ name: 'CUDA0', totalBytes: 10 * GIB }], 60_000);
    const children = await Promise.all(
      ['a', 'b'].map((id) => w.start(id, { 'sim-size': '6GiB', 'sim-load-seconds': '0.4' })),
    );
    await until('each is ready or has failed', () => {
      return children.every(({ messages, exits }) => exits.length > 0 || messages.some(({ type }) => type === 'ready'));
    });
    const failed = children.filter(({ exits }) => exits.length > 0);
    expect(failed.length).toBeGreaterThan(0);
    for (const { exits } of failed)
      expect(exits.map((exit) => w.engine.classify(exit).exitClass)).toEqual(['out-of-memory']);
    const { instances } = await w.sample();
    const held = instances.reduce((sum, { resident }) => sum + (resident['CUDA0'] ?? 0), 0);
    expect(held).toBeLessThanOrEqual(10 * GIB);
  });
});

describe('a simulated child', () => {
  it('leaves when it is asked to, also while it loads', async () => {
    const w = world(TWO);
    const [loaded, loading] = await Promise.all([w.start('a', QUICK), w.start('b', { 'sim-load-seconds': '600' })]);
    await ready(loaded);
    loaded.handle.stop({ loading: false, timeoutMillis: 30_000 });
    loading.handle.stop({ loading: true, timeoutMillis: 30_000 });
    expect(await loaded.exited).toMatchObject({ exitCode: 0, asked: true });
    expect(await loading.exited).toMatchObject({ signal: 'SIGTERM', asked: true });
    expect(w.engine.classify(await loaded.exited)).toMatchObject({ exitClass: 'stopped' });
  });

  it('crashes when it is told to', async () => {
    const w = world(TWO);
    const child = await w.start('a', { ...QUICK, 'sim-fail-after': '0.1' });
    expect(w.engine.classify(await child.exited)).toMatchObject({
      exitClass: 'crashed',
      reason: 'exited with code 134',
    });
  });

  it.each([
    [{ 'sim-size': 'huge' }, 'bad-arguments', 'it takes a size like 8GiB'],
    [{ 'sim-load-seconds': 'soon' }, 'bad-arguments', '--sim-load-seconds'],
    [{ device: 'CUDA7' }, 'bad-arguments', '--device CUDA7'],
    [{ 'no-such-option': '1' }, 'bad-arguments', '--no-such-option'],
  ])('says what is wrong with %o', async (options, exitClass, words) => {
    const w = world(TWO);
    const verdict = w.engine.classify(await (await w.start('a', options)).exited);
    expect(verdict.exitClass).toBe(exitClass);
    expect(verdict.reason).toContain(words);
  });

  it('says when its port is taken', async () => {
    const w = world(TWO);
    const first = await w.start('a', QUICK);
    await ready(first);
    const command = w.engine.command({
      entry: simEntry('b', QUICK),
      port: first.port,
      devices: null,
      role: 'instance',
    });
    expect(w.engine.classify(await watch(command).exited).exitClass).toBe('port-in-use');
  });

  it('serves OpenAI’s own client: answers, streams, embeddings', async () => {
    const w = world(TWO);
    const child = await w.start('tiny', { ...QUICK, 'sim-tokens-per-second': '500' });
    expect((await until('it listens', () => fetch(`${child.url}/health`).catch(() => null))).status).toBe(503);
    await ready(child);
    const client = new OpenAI({ baseURL: `${child.url}/v1`, apiKey: 'none', maxRetries: 0 });
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['tiny']);

    const messages = [{ role: 'user' as const, content: 'Are you there?' }];
    const whole = await client.chat.completions.create({ model: 'tiny', messages });
    expect(whole.choices[0]?.message.content).toContain('simulated');
    expect(whole.choices[0]?.message.content).toContain('Are you there?');
    expect(whole.choices[0]?.finish_reason).toBe('stop');

    const stream = await client.chat.completions.create({
      model: 'tiny',
      messages,
      max_completion_tokens: 12,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let usage: unknown;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    expect(whole.choices[0]?.message.content?.startsWith(text)).toBe(true);
    expect(usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 12, total_tokens: 15 });

    const plain = await client.completions.create({ model: 'tiny', prompt: 'Once', max_tokens: 5 });
    expect(plain.choices[0]?.text.split(' ')).toHaveLength(6);
    const { data } = await client.embeddings.create({
      model: 'tiny',
      input: ['a', 'b', 'a'],
      encoding_format: 'float',
    });
    expect(data[0]?.embedding).toEqual(data[2]?.embedding);
    expect(data[0]?.embedding).not.toEqual(data[1]?.embedding);

    const tokens = await fetch(`${child.url}/tokenize`, { method: 'POST', body: '{"content":"one two"}' });
    expect(await tokens.json()).toEqual({ tokens: [0, 1] });
    await expect(client.chat.completions.create({ model: 'tiny', messages: null as never })).resolves.toBeTruthy();
    const bad = await fetch(`${child.url}/v1/chat/completions`, { method: 'POST', body: '{' });
    expect(bad.status).toBe(400);
    expect(await bad.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });

  it('stops answering when the client has gone', async () => {
    const w = world(TWO);
    const child = await w.start('tiny', QUICK);
    await ready(child);
    const gone = new AbortController();
    const response = await fetch(`${child.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ messages: [], max_tokens: 100_000, stream: true }),
      signal: gone.signal,
    });
    await response.body?.getReader().read();
    gone.abort();
    await until('it has noticed', () =>
      child.log.some((line) => line.endsWith(': cut off, the rest of the answer is not wanted')),
    );
  });
});

describe('the simulated engine', () => {
  const { engine } = new SimWorld(TWO);

  it('expects a model on each device alone, then on all of them', () => {
    const places = engine.estimate(simEntry('a', { 'sim-size': '9GiB' }), []);
    expect(places.map(({ need }) => need)).toEqual([
      { CUDA0: 9 * GIB },
      { CUDA1: 9 * GIB },
      { CUDA0: 4.5 * GIB, CUDA1: 4.5 * GIB },
    ]);
  });

  it('leaves the choice to an entry that makes it', () => {
    const entry = simEntry('a', { 'sim-size': '512MiB', device: 'CUDA1' });
    expect(engine.estimate(entry, []).map(({ need }) => need)).toEqual([{ CUDA1: 512 * MIB }]);
    const { args } = engine.command({ entry, port: 1, devices: ['CUDA0'], role: 'instance' });
    expect(args.filter((argument) => argument === '--device')).toHaveLength(1);
  });

  it('expects nothing of an entry that cannot be started', () => {
    expect(engine.estimate(simEntry('a', { 'sim-size': 'x' }), [])).toEqual([{ need: {}, quality: 'estimate' }]);
  });
});
