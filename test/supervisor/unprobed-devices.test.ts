import { describe, expect, it } from 'vitest';
import type { DeviceReport, EventBody } from '../../src/scheduler/events.js';
import { MIB } from '../../src/scheduler/units.js';
import { UnprobedDevices } from '../../src/supervisor/unprobed-devices.js';

const CONTEXT = 300 * MIB;

const report = (name: string, totalMib: number, freeMib: number): DeviceReport => {
  return { name, totalBytes: totalMib * MIB, freeBytes: freeMib * MIB };
};

/** What is told to the scheduler once all of CUDA0 to CUDA3 cannot be probed, of what a program says of them. */
async function told(...reports: readonly DeviceReport[]): Promise<readonly EventBody[]> {
  const events: EventBody[] = [];
  const unprobed = new UnprobedDevices({
    engine: { reportDevices: async () => Promise.resolve(reports) },
    contexts: { ofAsking: (name) => (name === 'CUDA3' ? 0 : CONTEXT) },
    state: () => ({ shuttingDown: false }),
    dispatch: (event) => events.push(event),
  });
  await unprobed.askAbout([{ devices: ['CUDA0', 'CUDA1', 'CUDA2', 'CUDA3'], message: 'nvidia: none', lasting: true }]);
  return events;
}

describe('a device that no probe can be had for', () => {
  it('is not used by the program that was asked of it, whose own context was in what it said', async () => {
    expect(await told(report('CUDA0', 24_576, 20_000), report('CUDA3', 512, 312))).toEqual([
      { type: 'reported', reports: [report('CUDA0', 24_576, 20_300), report('CUDA3', 512, 312)] },
    ]);
  });

  it('has never more free than there is, also where that context is smaller than it was taken for', async () => {
    expect(await told(report('CUDA2', 512, 312))).toEqual([{ type: 'reported', reports: [report('CUDA2', 512, 512)] }]);
  });

  it('is not made sense of where the program makes none', async () => {
    expect(await told(report('CUDA1', 512, 600))).toEqual([{ type: 'reported', reports: [report('CUDA1', 512, 600)] }]);
  });

  it('is the only kind that is asked for', async () => {
    expect(await told(report('Vulkan0', 512, 312))).toEqual([]);
  });
});
