import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createResidency, type Residency } from '../../../src/engines/embedded/model/residency.js';

const IDLE_MILLIS = 1000;
const never = new AbortController().signal;

let events: string[];
let loads: number;
let loading: PromiseWithResolvers<string>;
let residency: Residency<string>;

beforeEach(() => {
  vi.useFakeTimers();
  events = [];
  loads = 0;
  loading = Promise.withResolvers();
  residency = createResidency({
    first: 'model 0',
    idleMillis: IDLE_MILLIS,
    load: () => {
      loads += 1;
      return loading.promise;
    },
    unload: (model) => Promise.resolve(void events.push(`unload ${model}`)),
    onAsleep: () => void events.push('asleep'),
    onAwake: (model) => void events.push(`awake ${model}`),
    onFailure: (error) => void events.push(`failed: ${(error as Error).message}`),
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const use = (signal: AbortSignal = never): Promise<string> => residency.use(signal, (model) => model);

describe('a model that is told to sleep while it is still being used', () => {
  it('leaves right after that', async () => {
    const work = Promise.withResolvers<null>();
    const used = residency.use(never, () => work.promise);
    await vi.advanceTimersByTimeAsync(0);
    residency.sleepNow();
    expect(events).toEqual([]);
    work.resolve(null);
    await used;
    await vi.advanceTimersByTimeAsync(0);
    expect(events).toEqual(['unload model 0', 'asleep']);
  });

  it('stays for somebody who came after that, and is not put to sleep later for it', async () => {
    const [one, other] = [Promise.withResolvers<null>(), Promise.withResolvers<null>()];
    const first = residency.use(never, () => one.promise);
    residency.sleepNow();
    const second = residency.use(never, () => other.promise);
    one.resolve(null);
    await first;
    other.resolve(null);
    await second;
    await vi.advanceTimersByTimeAsync(IDLE_MILLIS - 1);
    expect(events).toEqual([]);
  });
});

describe('a model in memory', () => {
  it('leaves once it has been idle for long enough, counted from the end of the last work', async () => {
    const work = Promise.withResolvers<null>();
    const used = residency.use(never, () => work.promise);
    await vi.advanceTimersByTimeAsync(5 * IDLE_MILLIS);
    expect(events).toEqual([]);
    work.resolve(null);
    await used;
    await vi.advanceTimersByTimeAsync(IDLE_MILLIS - 1);
    expect(residency.current).toBe('model 0');
    await vi.advanceTimersByTimeAsync(1);
    expect(events).toEqual(['unload model 0', 'asleep']);
    expect(residency.current).toBeNull();
  });

  it('comes back once for all who want it', async () => {
    await vi.advanceTimersByTimeAsync(IDLE_MILLIS);
    const used = [use(), use(), use()];
    await vi.advanceTimersByTimeAsync(0);
    loading.resolve('model 1');
    expect(await Promise.all(used)).toEqual(['model 1', 'model 1', 'model 1']);
    expect(loads).toBe(1);
    expect(events.at(-1)).toBe('awake model 1');
  });

  it('comes back for others, and leaves again, when the one who woke it has gone', async () => {
    await vi.advanceTimersByTimeAsync(IDLE_MILLIS);
    const gone = new AbortController();
    const used = use(gone.signal);
    await vi.advanceTimersByTimeAsync(0);
    gone.abort(new Error('gone'));
    await expect(used).rejects.toThrow('gone');
    loading.resolve('model 1');
    await vi.advanceTimersByTimeAsync(0);
    expect(residency.current).toBe('model 1');
    await vi.advanceTimersByTimeAsync(IDLE_MILLIS);
    expect(events.slice(-2)).toEqual(['unload model 1', 'asleep']);
  });

  it('says so when it cannot come back', async () => {
    await vi.advanceTimersByTimeAsync(IDLE_MILLIS);
    const used = use();
    const refused = expect(used).rejects.toThrow('no room');
    await vi.advanceTimersByTimeAsync(0);
    loading.reject(new Error('no room'));
    await refused;
    expect(events.at(-1)).toBe('failed: no room');
  });

  it('leaves at once when it is told to, but not while it is used, and never twice', async () => {
    const work = Promise.withResolvers<null>();
    const used = residency.use(never, () => work.promise);
    residency.sleepNow();
    await vi.advanceTimersByTimeAsync(0);
    expect(events).toEqual([]);
    work.resolve(null);
    await used;
    residency.sleepNow();
    residency.sleepNow();
    await vi.advanceTimersByTimeAsync(5 * IDLE_MILLIS);
    expect(events).toEqual(['unload model 0', 'asleep']);
  });
});
