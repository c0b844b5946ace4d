import { describe, expect, it } from 'vitest';
import type { ReadDeviceView } from '../../src/client/types.js';
import { GIB, MIB } from '../../src/scheduler/units.js';
import { createScreenWorld } from '../support/screen-world.js';
import { SAMPLE_TIME, sampleDevice, sampleSnapshot } from '../support/snapshots.js';

function pageOf(parts: Partial<ReadDeviceView>, columns = 140): string {
  const world = createScreenWorld(sampleSnapshot({ devices: [sampleDevice('CUDA0', parts)] }), { columns, rows: 40 });
  world.press('1', 'return');
  return world.text();
}

describe('the page of a device', () => {
  it('names the programs that are not ours, largest first, and what of it is not told', () => {
    const foreign = [
      { pid: 4711, name: 'blender', bytes: 2 * GIB },
      { pid: 815, name: '', bytes: 300 * MIB },
    ];
    const text = pageOf({ externalBytes: 3 * GIB, foreign });
    expect(text).toContain('3.0 GiB is held by programs that are not ours');
    expect(text).toMatch(/2\.0 GiB +4711 +blender\n.*300 MiB +815 +\(not told\)\n +724 MiB +the driver, and whoever/);
  });

  it('says that there is nobody else, or that nobody can tell', () => {
    expect(pageOf({})).toContain('nothing else holds memory here');
    const hidden = pageOf({ externalBytes: GIB, attributed: false, remark: 'the driver hides containers' });
    expect(hidden).toContain('the probe cannot tell which process holds what');
    expect(hidden).toMatch(/remark +the driver hides containers/);
  });

  it('says which probe serves it, how old the figures are, and how busy it is', () => {
    expect(pageOf({ utilizationPercent: 71 })).toMatch(/probe +nvml, up to date\n +busy +71%/);
    expect(pageOf({ sampledAt: SAMPLE_TIME - 7_300 })).toMatch(/probe +nvml, last read 7s ago/);
    expect(pageOf({ sampledAt: null })).toContain('no probe serves it');
  });

  it.each([60, 80, 140])('has all of the driver’s own words at %i columns, and what happens meanwhile', (columns) => {
    const problem = 'nvml: Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost. Reboot the system';
    const text = pageOf({ problem, sampledAt: SAMPLE_TIME - 1_000, utilizationPercent: 5 }, columns);
    expect(text.replaceAll(/\s+/g, ' ')).toContain(problem);
    expect(text.replaceAll(/\s+/g, ' ')).toContain('nothing is loaded there: models that need it wait');
    expect(text).not.toContain('busy');
  });
});
