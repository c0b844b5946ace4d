import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { CatalogEntry } from '../../src/catalog/entry.js';
import { toModelSpec } from '../../src/catalog/spec-of-entry.js';
import { MeasurementStore } from '../../src/measurements/store.js';
import { GIB } from '../../src/scheduler/units.js';
import { InstanceRecords } from '../../src/supervisor/instance-records.js';
import { PinStore } from '../../src/supervisor/pins.js';
import { Supervisor } from '../../src/supervisor/supervisor.js';
import { writeAtomically } from '../../src/supervisor/write-atomically.js';
import { descendants } from '../support/serving.js';
import { SimWorld, simEntry } from '../support/sim-world.js';
import { DEFAULT_SETTINGS } from '../../src/scheduler/default-settings.js';
import { tempTree } from '../support/temp-tree.js';
import { isRunning, until } from '../support/until.js';

const started: Supervisor[] = [];
afterEach(async () => {
  for (const supervisor of started.splice(0)) await supervisor.shutdown();
});

/** A supervisor in this process, with real children, whose measurements may take so long. */
async function supervise(measureLimitMillis: number, entries: readonly CatalogEntry[]): Promise<Supervisor> {
  const world = new SimWorld([{ name: 'CUDA0', totalBytes: 24 * GIB }]);
  const directory = tempTree({});
  const supervisor = new Supervisor({
    settings: { ...DEFAULT_SETTINGS, measures: true, measureLimitMillis },
    engine: world.engine,
    catalog: { entries, notices: [], errors: [] },
    readCatalog: () => Promise.resolve({ entries, notices: [], errors: [] }),
    hub: { cache: null, access: { endpoint: '', token: null } },
    specOf: (entry) => toModelSpec(entry, world.engine.estimate(entry, []), 'sim'),
    sample: async () => ({ sample: await world.sample(), failures: [] }),
    pins: new PinStore(directory),
    measurements: new MeasurementStore({
      path: join(directory, 'measurements.json'),
      write: writeAtomically,
      now: () => Date.now(),
    }),
    info: {
      version: '0',
      pid: process.pid,
      startedAt: 0,
      url: '',
      host: '',
      startedWith: '',
      engine: { name: 'sim', reason: '', simulated: true },
      sources: [],
      notices: [],
    },
    records: new InstanceRecords(join(directory, 'instances'), () => undefined),
    limits: { loadTimeoutMillis: 0, hangTimeoutMillis: 0 },
    journal: null,
    now: () => Date.now(),
  });
  started.push(supervisor);
  await supervisor.start();
  return supervisor;
}

const endless = simEntry('endless', { 'sim-measure-seconds': '600' });

/** Pids of the measuring children of this process. */
async function children(): Promise<readonly number[]> {
  return until('a child measures', () => descendants(process.pid).length > 0 && descendants(process.pid));
}

it('a measurement that takes too long is killed, and the next model has its turn', async () => {
  const supervisor = await supervise(1000, [endless, simEntry('quick', {})]);
  const measuring = await children();
  const memory = (id: string): string | undefined => supervisor.memoryOf(id)?.status;
  await until('the other one is measured', () => memory('quick') === 'measured');
  expect(memory('endless')).toBe('failed');
  expect(supervisor.snapshot().decisions.map(({ sentence }) => sentence)).toContain(
    'endless: could not be measured (no result within 1 s); its estimate is used',
  );
  await until('its child is gone', () => measuring.every((pid) => !isRunning(pid)));
});

it('a measurement ends with its supervisor, which waits for that', async () => {
  const supervisor = await supervise(600_000, [endless]);
  const [first = 0] = await children();
  expect(supervisor.operate('measure', 'endless')).toEqual({
    ok: false,
    message: "model 'endless' is being measured already",
  });
  await supervisor.shutdown();
  started.pop();
  expect(isRunning(first)).toBe(false);
  expect(supervisor.snapshot().measuringSince).toBeNull();
});
