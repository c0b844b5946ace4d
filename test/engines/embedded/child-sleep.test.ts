import { copyFile, writeFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { wakeChild } from '../../../src/supervisor/wake-child.js';
import { until } from '../../support/until.js';
import {
  entryFor,
  readEvents,
  residentBytes,
  sampleModels,
  startChild,
  startSmall,
  type Completion,
  type RunningChild,
} from './embedded-child.js';

/** Long enough for a request to be sent meanwhile on a busy machine. */
const IDLE_SECONDS = '0.6';

let child: RunningChild;
afterEach(() => child[Symbol.asyncDispose]());

const wordsOf = (): readonly string[] => child.messages.map(({ type }) => type);
const count = (type: string): number => wordsOf().filter((word) => word === type).length;
const asleep = (times = 1): Promise<true> => until('it sleeps', () => count('sleeping') === times);
const isSleeping = async (): Promise<boolean> => (await child.get<{ is_sleeping: boolean }>('/props')).is_sleeping;

describe('a child that has been idle for long enough', () => {
  it('leaves memory, and comes back with the next task, which never hears of it', async () => {
    child = await startSmall({ 'sleep-idle-seconds': IDLE_SECONDS });
    const request = { prompt: 'the sea', max_tokens: 8, temperature: 0 };
    const before = await child.ask<Completion>('/v1/completions', request);
    await asleep();
    expect(await isSleeping()).toBe(true);
    const after = await child.ask<Completion>('/v1/completions', request);
    expect(after.choices).toEqual(before.choices);
    expect(await isSleeping()).toBe(false);
    const since = wordsOf().slice(wordsOf().indexOf('sleeping') + 1);
    expect(since[0]).toBe('loading');
    expect(since).toContain('ready');
    const woken = child.messages.findLast(({ type }) => type === 'ready');
    expect(woken).toEqual({ type: 'ready', contextTokens: null, effective: null });
    await asleep(2);
  });

  it.skipIf(process.platform !== 'linux')('really gives its memory back', async () => {
    const [, , large = ''] = await sampleModels();
    child = await startChild(entryFor(large, { 'sleep-idle-seconds': IDLE_SECONDS, 'no-mmap': true }));
    await child.until(({ type }) => type === 'ready');
    await child.ask('/v1/completions', { prompt: 'the sea', max_tokens: 4 });
    const awake = residentBytes(child.pid);
    await asleep();
    await until('its memory is back', () => residentBytes(child.pid) < awake - 90e6);
  });

  it('answers whoever only looks, who neither wakes it nor keeps it awake', async () => {
    child = await startSmall({ 'sleep-idle-seconds': IDLE_SECONDS });
    const paths = ['/health', '/props', '/models', '/v1/models', '/metrics', '/slots'];
    const look = async (): Promise<readonly number[]> =>
      Promise.all(paths.map(async (path) => (await fetch(`${child.url}${path}`)).status));
    // Asked all the time, it falls asleep all the same.
    await until('it sleeps', async () => {
      expect(new Set(await look())).toEqual(new Set([200]));
      return count('sleeping') === 1;
    });
    const models = await child.get<{ data: readonly { meta: { n_ctx: number } }[] }>('/v1/models');
    expect(models.data[0]?.meta.n_ctx).toBeGreaterThan(0);
    expect(new Set(await look())).toEqual(new Set([200]));
    expect(await isSleeping()).toBe(true);
    expect(wordsOf().at(-1)).toBe('sleeping');
  });

  it('does not wake for what is no valid task', async () => {
    child = await startSmall({ 'sleep-idle-seconds': IDLE_SECONDS });
    await asleep();
    expect((await child.post('/v1/completions', { prompt: 7 })).status).toBe(400);
    expect((await child.post('/v1/embeddings', { input: 'a' })).status).toBe(501);
    expect(await isSleeping()).toBe(true);
  });

  it('wakes once for several tasks, as for the supervisor that asks it to', async () => {
    child = await startSmall({ 'sleep-idle-seconds': IDLE_SECONDS, parallel: '2' });
    await asleep();
    wakeChild(child.port);
    await until('it is awake', () => count('ready') === 2);
    await asleep(2);
    const request = { prompt: 'the sea', max_tokens: 8, stream: true };
    const answers = await Promise.all(Array.from({ length: 5 }, () => child.post('/v1/completions', request)));
    for (const answer of answers) expect((await readEvents<Completion>(answer)).length).toBeGreaterThan(0);
    expect(count('ready')).toBe(3);
  });

  it('counts idle time from the end of work', async () => {
    child = await startSmall({ 'sleep-idle-seconds': IDLE_SECONDS, 'ctx-size': '2048' });
    const response = await child.post('/v1/completions', {
      prompt: 'the',
      max_tokens: 1500,
      stream: true,
      temperature: 0,
    });
    const events = await readEvents<Completion>(response);
    expect(events.length).toBeGreaterThan(5);
    expect(count('sleeping')).toBe(0);
    await asleep();
  });

  it('wakes although the client who wanted it has gone, and sleeps again', async () => {
    child = await startSmall({ 'sleep-idle-seconds': IDLE_SECONDS });
    await asleep();
    const gone = new AbortController();
    const asked = child.post('/v1/completions', { prompt: 'the' }, gone.signal).catch(() => null);
    await until('it wakes', () => wordsOf().at(-1) === 'loading');
    gone.abort();
    await asked;
    await asleep(2);
    expect(await child.metric('tokens_predicted_total')).toBe(0);
  });

  it('leaves at once when asked to while it sleeps', async () => {
    child = await startSmall({ 'sleep-idle-seconds': IDLE_SECONDS });
    await asleep();
    child.askToExit();
    expect(await child.ended).toMatchObject({ exitCode: 0, signal: null });
  });

  it('leaves at once when asked to while it wakes', async () => {
    const [, , large = ''] = await sampleModels();
    child = await startChild(entryFor(large, { 'sleep-idle-seconds': IDLE_SECONDS }));
    await asleep();
    wakeChild(child.port);
    await until('it wakes', () => wordsOf().at(-1) === 'loading');
    child.terminate();
    expect(await child.ended).toMatchObject({ exitCode: 0, signal: null });
    expect(wordsOf().at(-1)).toBe('loading');
  });

  it('says why, and ends, when the model cannot come back', async () => {
    const [small = ''] = await sampleModels();
    const path = `${small}.copy.gguf`;
    await copyFile(small, path);
    child = await startChild(entryFor(path, { 'sleep-idle-seconds': IDLE_SECONDS }));
    await asleep();
    await writeFile(path, '');
    wakeChild(child.port);
    const { exitCode, verdict } = await child.ended;
    expect(exitCode).toBe(1);
    expect(verdict).toMatchObject({
      exitClass: 'unreadable-model',
      reason: expect.stringMatching(/is empty/u) as string,
    });
  });
});

describe('a child that is told to sleep', () => {
  it('leaves memory at once though it never would by itself, and comes back with the next task', async () => {
    child = await startSmall();
    const request = { prompt: 'the sea', max_tokens: 8, temperature: 0 };
    const before = await child.ask<Completion>('/v1/completions', request);
    child.askToSleep();
    await asleep();
    expect(await isSleeping()).toBe(true);
    child.askToSleep();
    expect((await child.ask<Completion>('/v1/completions', request)).choices).toEqual(before.choices);
    expect(count('sleeping')).toBe(1);
  });
});
