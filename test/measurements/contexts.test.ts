import { describe, expect, it } from 'vitest';
import { Contexts } from '../../src/measurements/contexts.js';
import { MeasurementStore } from '../../src/measurements/store.js';
import type { DeviceReading } from '../../src/scheduler/events.js';
import { MIB, type Bytes } from '../../src/scheduler/units.js';
import { writeAtomically } from '../../src/supervisor/write-atomically.js';
import { tempTree } from '../support/temp-tree.js';
import { join } from 'node:path';

const gpu = (name: string, change: Partial<DeviceReading> = {}): DeviceReading => ({
  name,
  kind: 'discrete',
  description: 'RTX',
  totalBytes: 1000 * MIB,
  usedBytes: 0,
  attributed: true,
  ...change,
});
const host = gpu('Host', { kind: 'host' });
const GUESS: Bytes = 300 * MIB;
const engine = { name: 'llama-server', build: 'one', contextGuess: () => GUESS };

function storeIn(directory: string): MeasurementStore {
  return new MeasurementStore({ path: join(directory, 'measurements.json'), write: writeAtomically, now: () => 1 });
}

function open(
  devices: readonly DeviceReading[] = [gpu('CUDA0'), gpu('CUDA1', { description: 'another' }), host],
  store = storeIn(tempTree({})),
  of: typeof engine = engine,
): Contexts {
  return new Contexts({ engine: of, store, devices: () => devices });
}

describe('what a process takes besides its tables', () => {
  it('is guessed before any was seen, on the devices that it uses', () => {
    const need = { CUDA1: 5 * MIB, Host: MIB };
    expect(open().of(need, true)).toEqual({ CUDA1: GUESS });
    expect(open().addTo(need, true)).toEqual({ CUDA1: 5 * MIB + GUESS, Host: MIB });
  });

  it('is taken on every device by a child that nobody tells which to use, even when its model is in system memory', () => {
    expect(open().addTo({ Host: MIB }, false)).toEqual({ Host: MIB, CUDA0: GUESS, CUDA1: GUESS });
    expect(open().addTo({ Host: MIB }, true)).toEqual({ Host: MIB });
  });

  it('is not taken on a device that could never be read by a child that has no use for it', () => {
    const devices = [gpu('CUDA0', { totalBytes: 0 }), host];
    expect(open(devices).addTo({ Host: MIB }, false)).toEqual({ Host: MIB });
    expect(open(devices).addTo({ CUDA0: MIB }, false)).toEqual({ CUDA0: MIB + GUESS });
  });

  it('is nothing where nothing is needed, or nothing known', () => {
    expect(open().addTo({}, false)).toEqual({});
    expect(open([gpu('RPC0', { kind: 'remote' })]).addTo({ RPC0: MIB }, false)).toEqual({ RPC0: MIB });
    const plain = new Contexts({
      engine: { name: 'sim' },
      store: storeIn(tempTree({})),
      devices: () => [gpu('CUDA0')],
    });
    expect(plain.addTo({ CUDA0: MIB }, true)).toEqual({ CUDA0: MIB });
  });

  it('is what was seen, once any was, on every card of that kind', () => {
    const contexts = open([gpu('CUDA0'), gpu('CUDA1'), gpu('CUDA2', { totalBytes: 5 * MIB })]);
    expect(contexts.learn('CUDA0', 406 * MIB, 206 * MIB, true)).toBe(true);
    expect(contexts.of({ CUDA0: 1, CUDA1: 1, CUDA2: 1 }, true)).toEqual({
      CUDA0: 200 * MIB,
      CUDA1: 200 * MIB,
      CUDA2: GUESS,
    });
  });

  it('is the largest that was seen lately: a claim is never below what the next process takes', () => {
    const contexts = open();
    const see = (mib: number): boolean => contexts.learn('CUDA0', mib * MIB, 0, true);
    expect([see(200), see(190), see(250), see(250)]).toEqual([true, false, true, false]);
    expect(contexts.of({ CUDA0: 1 }, true)).toEqual({ CUDA0: 250 * MIB });
    for (let look = 0; look < 8; look += 1) see(210);
    expect(contexts.of({ CUDA0: 1 }, true)).toEqual({ CUDA0: 210 * MIB });
  });

  it('is less of one that only asks: what is known, and no more than is usual', () => {
    const contexts = open([gpu('CUDA0'), gpu('CUDA1', { totalBytes: 0 }), host]);
    expect(['CUDA0', 'CUDA1', 'CUDA7', 'Host'].map((name) => contexts.ofAsking(name))).toEqual([GUESS, GUESS, 0, 0]);
    contexts.learn('CUDA0', 200 * MIB, 0, true);
    expect(contexts.ofAsking('CUDA0')).toBe(200 * MIB);
    contexts.learn('CUDA0', 700 * MIB, 0, true);
    expect(contexts.ofAsking('CUDA0')).toBe(GUESS);
  });

  it('is not learnt from what makes no sense: less than the tables, more than any driver takes, unknown devices', () => {
    const contexts = open();
    expect(contexts.learn('CUDA0', 100 * MIB, 200 * MIB, true)).toBe(false);
    expect(contexts.learn('CUDA0', 5000 * MIB, 200 * MIB, true)).toBe(false);
    expect(contexts.learn('CUDA7', 300 * MIB, 200 * MIB, true)).toBe(false);
    expect(contexts.of({ CUDA0: 1 }, true)).toEqual({ CUDA0: GUESS });
  });

  it('is at least what tables of another layout leave over', () => {
    const contexts = open();
    expect(contexts.learn('CUDA0', 400 * MIB, 200 * MIB, false)).toBe(false);
    expect(contexts.of({ CUDA0: 1 }, true)).toEqual({ CUDA0: GUESS });
    expect(contexts.learn('CUDA0', 600 * MIB, 200 * MIB, false)).toBe(true);
    expect(contexts.of({ CUDA0: 1 }, true)).toEqual({ CUDA0: 400 * MIB });
  });

  it('is known after a restart, for that engine’s build alone', async () => {
    const directory = tempTree({});
    const store = storeIn(directory);
    open(undefined, store).learn('CUDA0', 200 * MIB, 0, true);
    await store.flush();
    const again = storeIn(directory);
    expect(await again.load()).toEqual({ notice: null });
    expect(open(undefined, again).of({ CUDA0: 1 }, true)).toEqual({ CUDA0: 200 * MIB });
    expect(open(undefined, again, { ...engine, build: 'two' }).of({ CUDA0: 1 }, true)).toEqual({ CUDA0: GUESS });
  });

  it('is not kept of ever more devices', () => {
    const store = storeIn(tempTree({}));
    for (let index = 0; index < 100; index += 1) store.putLooks(`device ${index}`, [1]);
    expect(store.looks('device 0')).toEqual([]);
    expect(store.looks('device 99')).toEqual([1]);
  });
});
