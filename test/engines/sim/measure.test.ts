import { afterEach, describe, expect, it } from 'vitest';
import type { Measurement } from '../../../src/engines/engine.js';
import { GIB } from '../../../src/scheduler/units.js';
import { watch } from '../../support/node-child.js';
import { runMeasurement } from '../../support/run-measurement.js';
import { SimWorld, simEntry } from '../../support/sim-world.js';

const DEVICES = [
  { name: 'CUDA0', totalBytes: 24 * GIB },
  { name: 'CUDA1', totalBytes: 24 * GIB },
];
const worlds: SimWorld[] = [];

function world(): SimWorld {
  const made = new SimWorld(DEVICES);
  worlds.push(made);
  return made;
}

afterEach(async () => {
  for (const made of worlds.splice(0)) await made.end();
});

function measurement({ engine }: SimWorld, options: Readonly<Record<string, string>>): Measurement {
  const made = engine.measure?.({ entry: simEntry('a', options), port: 1, devices: ['CUDA1'] });
  if (made === undefined) throw new Error('the simulated engine measures');
  return made;
}

describe('a measuring child of the simulated engine', () => {
  it('says what the model would take, takes nothing, and leaves', async () => {
    const w = world();
    const found = await runMeasurement(measurement(w, { 'sim-size': '3GiB', 'ctx-size': '8192' }));
    const row = { kind: 'device', name: 'CUDA1', total: 24 * GIB, free: 24 * GIB, compute: 0 };
    expect(found).toMatchObject({ result: 'measured', min: { n_ctx: 8192, devices: [row] } });
    const [own] = found.result === 'measured' ? found.min.devices : [];
    expect((own?.model ?? 0) + (own?.context ?? 0)).toBe(3 * GIB);
    expect(await w.used('CUDA1')).toBe(0);
  });

  it.each([
    ['always', 'simulated failure, as asked for by --sim-measure-fails'],
    ['until-loaded', 'nothing is loaded yet'],
    ['malformed', 'its figures make no sense'],
    ['sometimes', 'it takes one of always, malformed, until-loaded'],
  ])('fails %s, and says why', async (failure, words) => {
    const found = await runMeasurement(measurement(world(), { 'sim-measure-fails': failure }));
    expect(found).toMatchObject({ result: 'failed', error: expect.stringContaining(words) as string });
  });

  it('leaves when its supervisor has gone', async () => {
    const { command } = measurement(world(), { 'sim-measure-seconds': '600' });
    const { handle, exited } = watch(command);
    // Its stdin ends with this message as it would with the pipe.
    handle.stop({ loading: false, timeoutMillis: 30_000 });
    expect(await exited).toMatchObject({ exitCode: 0, signal: null });
  });
});
