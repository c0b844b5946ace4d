import { describe, expect, it } from 'vitest';
import { combineProbes, createProbes } from '../../src/devices/combined-probe.js';
import type { DeviceProbe, ProcessTree } from '../../src/devices/probe.js';

/** A probe of one device that says which pids it was asked about. */
function probeOf(device: string, asked: (readonly ProcessTree[])[] = []): DeviceProbe {
  return {
    name: device,
    sample(trees) {
      asked.push(trees);
      const reading = {
        name: device,
        kind: 'discrete',
        description: '',
        totalBytes: 9,
        usedBytes: 1,
        attributed: true,
      } as const;
      const instances = trees.map(({ model, generation }) => ({ model, generation, resident: { [device]: 1 } }));
      return Promise.resolve({ devices: [reading], instances });
    },
    close: () => undefined,
  };
}

const BROKEN: DeviceProbe = {
  name: 'broken',
  sample: () => {
    throw new Error('the driver’s own words');
  },
  close: () => undefined,
};

describe('several probes as one', () => {
  it('make one reading of each instance', async () => {
    const trees = [
      { model: 'a', generation: 1, pids: [1] },
      { model: 'a', generation: 2, pids: [2] },
    ];
    const { sample } = await combineProbes([probeOf('CUDA0'), probeOf('Host')], () => Promise.resolve(null)).sample(
      trees,
    );
    expect(sample.devices.map(({ name }) => name)).toEqual(['CUDA0', 'Host']);
    expect(sample.instances).toEqual([
      { model: 'a', generation: 1, resident: { CUDA0: 1, Host: 1 } },
      { model: 'a', generation: 2, resident: { CUDA0: 1, Host: 1 } },
    ]);
  });

  it('go on when one fails, and say what it said', async () => {
    const { sample, errors } = await combineProbes([BROKEN, probeOf('Host')]).sample([]);
    expect(errors).toEqual(['broken: the driver’s own words']);
    expect(sample.devices.map(({ name }) => name)).toEqual(['Host']);
  });

  it('are asked about whole process trees, found once while they stay the same', async () => {
    const asked: (readonly ProcessTree[])[] = [];
    let reads = 0;
    const table = [
      { pid: 10, parent: 1, group: 10 },
      { pid: 11, parent: 10, group: 10 },
    ];
    const combined = combineProbes([probeOf('CUDA0', asked), probeOf('Host', asked)], () => {
      reads++;
      return Promise.resolve(table);
    });
    await combined.sample([{ model: 'a', generation: 1, pids: [10] }]);
    await combined.sample([{ model: 'a', generation: 1, pids: [10] }]);
    expect(reads).toBe(1);
    await combined.sample([{ model: 'b', generation: 2, pids: [11] }]);
    expect(reads).toBe(2);
    expect(asked.slice(0, 4).map(([tree]) => tree?.pids)).toEqual([
      [10, 11],
      [10, 11],
      [10, 11],
      [10, 11],
    ]);
  });

  it('are the simulated ones alone, or those of the machine', async () => {
    const sim = { devices: [{ name: 'CUDA0', totalBytes: 5 }], ledgerDirectory: '/nowhere' };
    const names = async (options: Parameters<typeof createProbes>[0]): Promise<readonly string[]> => {
      return (await createProbes(options).sample([])).sample.devices.map(({ name }) => name);
    };
    expect(await names({ sim })).toEqual(['CUDA0']);
    expect(await names({})).toEqual(['Host']);
  });
});
