import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChildMemory, MemoryRow } from '../../src/engines/messages.js';
import { devicesToMeasureOn, measuredPlacements } from '../../src/measurements/placements.js';
import type { DeviceReading } from '../../src/scheduler/events.js';
import type { Placement } from '../../src/scheduler/state.js';
import type { DeviceBytes } from '../../src/scheduler/units.js';

const row = (name: string, model: number, context: number, compute: number): MemoryRow => {
  return { kind: name === 'Host' ? 'host' : 'device', name, model, context, compute };
};
const table = (...devices: readonly MemoryRow[]): ChildMemory => ({ n_ctx: 4096, devices });
const estimate = (need: DeviceBytes): Placement => ({ need, quality: 'estimate' });
const needs = (memory: ChildMemory, ...estimates: readonly DeviceBytes[]): readonly DeviceBytes[] =>
  measuredPlacements(memory, estimates.map(estimate)).map(({ need }) => need);

describe('a measured way to lay a model out', () => {
  it('needs just what was measured, on the devices that it was measured on', () => {
    const memory = table(row('CUDA0', 100, 20, 3), row('Host', 0, 0, 7));
    expect(measuredPlacements(memory, [estimate({ CUDA0: 999 })])).toEqual([
      { need: { CUDA0: 123, Host: 7 }, quality: 'min' },
    ]);
  });

  it('shares weights and cache as the estimate does, and has compute buffers on every device', () => {
    const memory = table(row('CUDA0', 100, 20, 3), row('Host', 0, 0, 7));
    expect(needs(memory, { CUDA0: 999 }, { CUDA1: 999 }, { CUDA0: 300, CUDA1: 100 })).toEqual([
      { CUDA0: 123, Host: 7 },
      { CUDA1: 123, Host: 7 },
      { CUDA0: 93, CUDA1: 33, Host: 7 },
    ]);
  });

  it('is brought together from several devices with the compute buffers of one', () => {
    const memory = table(row('CUDA0', 60, 12, 5), row('CUDA1', 40, 8, 4));
    expect(needs(memory, { CUDA1: 1 })).toEqual([{ CUDA1: 125 }]);
  });

  it('goes to system memory whole, and comes from there whole', () => {
    expect(needs(table(row('CUDA0', 100, 20, 3), row('Host', 1, 0, 2)), { Host: 9 })).toEqual([{ Host: 124 }]);
    expect(needs(table(row('Host', 100, 20, 3)), { CUDA0: 9, Host: 1 })).toEqual([{ CUDA0: 123 }]);
  });

  it('is where it was measured, when no estimate says where', () => {
    const memory = table(row('Vulkan0', 100, 20, 3), row('Vulkan1', 0, 0, 0));
    expect(needs(memory, {})).toEqual([{ Vulkan0: 123 }]);
  });

  it('is none when nothing was measured', () => {
    expect(needs(table(), { CUDA0: 1 })).toEqual([]);
    expect(needs(table(row('CUDA0', 0, 0, 0)), { CUDA0: 1 })).toEqual([]);
  });

  it('has devices before system memory, since the first one tells the kind of backend', () => {
    const [need = {}] = needs(table(row('Host', 1, 1, 1), row('CUDA1', 1, 1, 1)), { CUDA1: 1 });
    expect(Object.keys(need)).toEqual(['CUDA1', 'Host']);
  });

  it('never needs less than its weights and cache, wherever they go', () => {
    const bytes = fc.nat(1_000_000);
    const names = fc.uniqueArray(fc.constantFrom('CUDA0', 'CUDA1', 'CUDA2'), { minLength: 1 });
    const rows = names.chain((chosen) => fc.tuple(...chosen.map((name) => fc.tuple(fc.constant(name), bytes, bytes))));
    fc.assert(
      fc.property(
        rows,
        fc.dictionary(fc.constantFrom('CUDA0', 'CUDA1', 'CUDA2'), bytes, { minKeys: 1 }),
        (all, need) => {
          fc.pre(Object.values(need).some((value) => value > 0));
          const memory = table(...all.map(([name, model, context]) => row(name, model, context, 1)));
          const shared = all.reduce((sum, [, model, context]) => sum + model + context, 0);
          for (const measured of needs(memory, need)) {
            expect(Object.values(measured).reduce((sum, value) => sum + value, 0)).toBeGreaterThanOrEqual(shared);
          }
        },
      ),
    );
  });
});

describe('a model is measured', () => {
  const gpu = (name: string, totalBytes: number): DeviceReading => {
    return { name, kind: 'discrete', description: '', totalBytes, usedBytes: 0, attributed: true };
  };
  const devices = [gpu('CUDA0', 24), gpu('CUDA1', 48)];
  const on = (...estimates: readonly DeviceBytes[]): readonly string[] | null =>
    devicesToMeasureOn(estimates.map(estimate), devices);

  it('on the first devices that it could fit on', () => {
    expect(on({ CUDA0: 20 }, { CUDA1: 20 }, { CUDA0: 10, CUDA1: 10 })).toEqual(['CUDA0']);
    expect(on({ CUDA0: 30 }, { CUDA1: 30 }, { CUDA0: 10, CUDA1: 20 })).toEqual(['CUDA1']);
  });

  it('on the last that there are when it fits on none', () => {
    expect(on({ CUDA0: 90 }, { CUDA0: 45, CUDA1: 45 })).toEqual(['CUDA0', 'CUDA1']);
  });

  it('where it sees fit when there is no choice', () => {
    expect(on({ CUDA0: 20 })).toBeNull();
    expect(on({})).toBeNull();
  });
});
