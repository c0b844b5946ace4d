import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ChildMemory } from '../../src/engines/messages.js';
import { keyOf, launchContext } from '../../src/measurements/key.js';
import { knownMemory } from '../../src/measurements/known-memory.js';
import { MeasurementStore } from '../../src/measurements/store.js';
import { measuredPlacements } from '../../src/measurements/placements.js';
import type { DeviceReading } from '../../src/scheduler/events.js';
import type { Placement } from '../../src/scheduler/state.js';
import { writeAtomically } from '../../src/supervisor/write-atomically.js';
import { tempTree } from '../support/temp-tree.js';

const memory: ChildMemory = {
  n_ctx: 4096,
  devices: [{ kind: 'device', name: 'CUDA0', total: 100, free: 90, model: 10, context: 2, compute: 1 }],
};
const tables = { min: memory, max: { ...memory, n_ctx: 8192 } };

function openStore(directory: string, now: () => number = () => 1): MeasurementStore {
  return new MeasurementStore({ path: join(directory, 'measurements.json'), write: writeAtomically, now });
}

describe('what was measured', () => {
  it('is there again after a restart, each part as it was last put', async () => {
    const directory = tempTree({});
    const first = openStore(directory);
    expect(await first.load()).toEqual({ notice: null });
    first.put('key', 'a', { tables });
    first.put('key', 'a', { observed: { CUDA0: 13 }, loadMillis: 500 });
    await first.flush();
    const second = openStore(directory);
    expect(await second.load()).toEqual({ notice: null });
    expect(second.get('key')).toMatchObject({ tables, observed: { CUDA0: 13 }, loadMillis: 500 });
    expect(second.get('other')).toEqual({ tables: null, observed: null, loadMillis: null });
  });

  it.each([
    ['is cut off', '{"version":1,"entr'],
    ['is of another version', '{"version":99,"entries":{}}'],
    ['has a figure that cannot be', JSON.stringify({ version: 1, entries: { k: brokenEntry() } })],
    ['is nothing', ''],
  ])('is forgotten with a notice when the file %s', async (_title, text) => {
    const directory = tempTree({ 'measurements.json': text });
    const store = openStore(directory);
    const { notice } = await store.load();
    expect(notice).toBe(
      `${join(directory, 'measurements.json')} is not a file of measurements that this version can read; models are measured again`,
    );
    store.put('key', 'a', { tables });
    await store.flush();
    expect(await openStore(directory).load()).toEqual({ notice: null });
  });

  it('that was not asked for longest goes first when there is too much of it', async () => {
    let now = 0;
    const store = openStore(tempTree({}), () => ++now);
    for (let index = 0; index < 1000; index += 1) store.put(`key ${index}`, 'm', { loadMillis: index });
    store.get('key 0');
    store.put('key 1000', 'm', { loadMillis: 1000 });
    expect(store.get('key 0').loadMillis).toBe(0);
    expect(store.get('key 1').loadMillis).toBeNull();
    expect(store.get('key 1000').loadMillis).toBe(1000);
    await store.flush();
  });

  it('is written in one go, however often it was put', async () => {
    const written: string[] = [];
    const write = (_path: string, text: string): Promise<void> => Promise.resolve(void written.push(text));
    const store = new MeasurementStore({ path: '/nowhere', write, now: () => 1 });
    for (let loadMillis = 0; loadMillis < 100; loadMillis += 1) store.put('key', 'a', { loadMillis });
    await store.flush();
    await store.flush();
    expect(written).toHaveLength(1);
    expect(written[0]).toContain('"loadMillis":99');
  });

  it('is not kept when it cannot be written, which is said once', async () => {
    const told: string[] = [];
    const write = (): Promise<void> => Promise.reject(new Error('no space left on device'));
    const onError = (message: string): void => void told.push(message);
    const store = new MeasurementStore({ path: '/nowhere', write, now: () => 1, onError });
    for (let loadMillis = 0; loadMillis < 3; loadMillis += 1) {
      store.put('key', 'a', { loadMillis });
      await store.flush();
    }
    expect(told).toEqual(['Measurements cannot be kept (no space left on device); the next start measures again.']);
  });

  it.runIf(process.platform !== 'win32')('is readable by nobody else', async () => {
    const directory = tempTree({});
    const store = openStore(directory);
    store.put('key', 'a', { loadMillis: 1 });
    await store.flush();
    expect(statSync(join(directory, 'measurements.json')).mode & 0o077).toBe(0);
  });
});

describe('what the scheduler is told', () => {
  const estimates = (table: ChildMemory): readonly Placement[] =>
    measuredPlacements(table, [{ need: { CUDA0: 99 }, quality: 'estimate' }]);

  it('is nothing when nothing is known', () => {
    expect(knownMemory({ tables: null, observed: null, loadMillis: null }, estimates)).toBeNull();
  });

  it('is the need at the smallest context, and what was seen', () => {
    expect(knownMemory({ tables, observed: { CUDA0: 20 }, loadMillis: 5 }, estimates)).toEqual({
      measured: [{ need: { CUDA0: 13 }, quality: 'min' }],
      observed: { CUDA0: 20 },
      loadMillis: 5,
    });
    expect(knownMemory({ tables: null, observed: null, loadMillis: 5 }, estimates)?.measured).toBeNull();
  });
});

describe('the key of a measurement', () => {
  const gpu = (name: string, change: Partial<DeviceReading> = {}): DeviceReading => {
    return { name, kind: 'discrete', description: 'RTX', totalBytes: 24, usedBytes: 0, attributed: true, ...change };
  };
  const host = gpu('Host', { kind: 'host', totalBytes: 64 });
  const key = keyOf('f', [gpu('CUDA0'), gpu('CUDA1'), host]);

  it.each([
    ['the fingerprint', keyOf('g', [gpu('CUDA0'), gpu('CUDA1'), host])],
    ['a device that is gone', keyOf('f', [gpu('CUDA0'), host])],
    ['another model of a device', keyOf('f', [gpu('CUDA0'), gpu('CUDA1', { description: 'A100' }), host])],
    ['the size of a device', keyOf('f', [gpu('CUDA0'), gpu('CUDA1', { totalBytes: 80 }), host])],
  ])('changes with %s', (_title, other) => {
    expect(other).not.toBe(key);
  });

  it.each([
    ['what is in use', keyOf('f', [gpu('CUDA0', { usedBytes: 9 }), gpu('CUDA1'), host])],
    ['the order of devices', keyOf('f', [gpu('CUDA1'), host, gpu('CUDA0')])],
    ['the size of system memory', keyOf('f', [gpu('CUDA0'), gpu('CUDA1'), { ...host, totalBytes: 1 }])],
  ])('does not change with %s', (_title, other) => {
    expect(other).toBe(key);
  });

  it('knows the engine, its build, and the variables that its children obey', () => {
    const engine = { name: 'llama-server', build: '1' };
    const plain = launchContext(engine, { PATH: '/bin', HOME: '/root' });
    expect(launchContext(engine, { PATH: '/other' })).toBe(plain);
    expect(launchContext(engine, { LLAMA_ARG_API_KEY: 'secret' })).toBe(plain);
    expect(launchContext({ ...engine, build: '2' }, {})).not.toBe(plain);
    expect(launchContext({ name: 'embedded', build: '1' }, {})).not.toBe(plain);
    expect(launchContext(engine, { LLAMA_ARG_CTX_SIZE: '9' })).not.toBe(plain);
    expect(launchContext(engine, { CUDA_VISIBLE_DEVICES: '1' })).not.toBe(plain);
  });
});

function brokenEntry(): object {
  const min = { n_ctx: 1, devices: [{ kind: 'device', name: 'CUDA0', model: -1, context: 0, compute: 0 }] };
  return { model: 'a', usedAt: 1, tables: { min, max: min }, observed: null, loadMillis: null };
}
