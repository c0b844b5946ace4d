import { describe, expect, it } from 'vitest';
import type { ProbeSample } from '../../src/devices/probe.js';
import { DeviceWatch } from '../../src/supervisor/device-watch.js';
import { until } from '../support/until.js';

const NOTHING: ProbeSample = { devices: [], instances: [] };

/** A watch whose samples are answered by hand, and whose events are kept. */
function watch(): { watch: DeviceWatch; asked: (() => void)[]; told: number[] } {
  const asked: (() => void)[] = [];
  const told: number[] = [];
  const deviceWatch = new DeviceWatch({
    sample: () => new Promise((resolve) => asked.push(() => resolve({ sample: NOTHING, failures: [] }))),
    trees: () => [],
    now: () => performance.now(),
    dispatch: (event) => {
      if (event.type === 'sample') told.push(event.takenAt);
    },
    onFailures: () => undefined,
    isFollowed: () => false,
  });
  return { watch: deviceWatch, asked, told };
}

describe('the watch over the devices', () => {
  it('looks at once when it is told to', async () => {
    const { watch: watching, asked } = watch();
    const started = watching.start();
    asked[0]?.();
    await started;
    const before = performance.now();
    watching.lookNow();
    await until('a second sample is taken', () => asked.length === 2);
    expect(performance.now() - before, 'long before its own time').toBeLessThan(900);
    watching.close();
  });

  it('looks once more when it was looking already: those figures may be older', async () => {
    const { watch: watching, asked, told } = watch();
    const started = watching.start();
    asked[0]?.();
    await started;
    watching.lookNow();
    await until('a look is under way', () => asked.length === 2);
    const wanted = performance.now();
    watching.lookNow();
    asked[1]?.();
    await until('another one follows', () => asked.length === 3);
    asked[2]?.();
    await until('it was told', () => told.length === 3);
    expect(told[1]).toBeLessThan(wanted);
    expect(told[2]).toBeGreaterThan(wanted);
    watching.close();
  });

  it('does not look once it is closed', async () => {
    const { watch: watching, asked } = watch();
    const started = watching.start();
    asked[0]?.();
    await started;
    watching.close();
    watching.lookNow();
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toHaveLength(1);
  });
});
