import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EventBody, ProbeFailure } from '../../src/scheduler/events.js';
import { DeviceWatch, type DeviceWatchOptions } from '../../src/supervisor/device-watch.js';

const TREE = { model: 'a', generation: 1, pids: [1] };
const NOTHING = { sample: { devices: [], instances: [] }, failures: [] };

/** A watch over devices that are only counted, with a clock that is set by hand. */
class Watched {
  samples = 0;
  isFollowed = false;
  trees: (typeof TREE)[] = [];
  answer: Awaited<ReturnType<DeviceWatchOptions['sample']>> = NOTHING;
  readonly failures: (readonly ProbeFailure[])[] = [];
  readonly events: EventBody[] = [];
  readonly watch: DeviceWatch = new DeviceWatch({
    sample: () => Promise.resolve((this.samples++, this.answer)),
    trees: () => this.trees,
    now: () => Date.now(),
    dispatch: (event) => this.events.push(event),
    isFollowed: () => this.isFollowed,
    onFailures: (failures) => this.failures.push(failures),
  });

  /** How many samples are taken in so many milliseconds. */
  async during(millis: number): Promise<number> {
    const before = this.samples;
    await vi.advanceTimersByTimeAsync(millis);
    return this.samples - before;
  }
}

describe('how often the devices are looked at', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('depends on what is under way, what runs, and who looks', async () => {
    const one = new Watched();
    await one.watch.start();
    await one.during(5000);
    expect(await one.during(30_000), 'nothing runs, and nobody looks').toBe(6);
    one.isFollowed = true;
    one.watch.lookNow();
    expect(await one.during(0), 'somebody has begun to look').toBe(1);
    expect(await one.during(10_000)).toBe(10);
    one.isFollowed = false;
    one.trees = [TREE];
    expect(await one.during(10_000), 'something runs').toBe(10);
    one.watch.watchClosely(true);
    const closely = await one.during(10_000);
    expect(closely).toBeGreaterThanOrEqual(50);
    expect(closely).toBeLessThanOrEqual(100);
    one.watch.close();
    expect(await one.during(60_000)).toBe(0);
  });

  it('tells failures once, and again when they, their devices or their words change, or all is well', async () => {
    const one = new Watched();
    one.trees = [TREE];
    const failing = { ...NOTHING, failures: [{ devices: ['CUDA0'], message: 'GPU is lost' }] };
    one.answer = failing;
    await one.watch.start();
    await one.during(3000);
    const wider = { ...NOTHING, failures: [{ devices: ['CUDA0', 'CUDA1'], message: 'GPU is lost' }] };
    one.answer = wider;
    await one.during(3000);
    one.answer = NOTHING;
    await one.during(3000);
    expect(one.failures).toEqual([failing.failures, wider.failures, []]);
    expect(one.events[0]).toMatchObject({ type: 'sample', failures: failing.failures });
    expect(one.events.at(-1)).not.toHaveProperty('failures');
    one.watch.close();
  });
});
