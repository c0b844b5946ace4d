import { describe, expect, it } from 'vitest';
import { Patient } from '../../src/devices/patient.js';
import { combineProbes, createProbes } from '../../src/devices/combined-probe.js';
import { createFallbackProbe } from '../../src/devices/fallback-probe.js';
import { ProbeAbsent, type DeviceProbe, type ProbeCapabilities, type ProcessTree } from '../../src/devices/probe.js';
import { until } from '../support/until.js';

const EVERYTHING: ProbeCapabilities = { total: true, used: true, perProcess: true, names: true };
/** Trees as they were given. */
const AS_GIVEN = { complete: (trees: readonly ProcessTree[]) => Promise.resolve(trees) };

/** A probe of one device that says which pids it was asked about. */
function probeOf(device: string, asked: (readonly ProcessTree[])[] = []): DeviceProbe {
  return {
    name: device,
    capabilities: EVERYTHING,
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
  capabilities: EVERYTHING,
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
    const { sample } = await combineProbes([probeOf('CUDA0'), probeOf('Host')], AS_GIVEN).sample(trees);
    expect(sample.devices.map(({ name }) => name)).toEqual(['CUDA0', 'Host']);
    expect(sample.instances).toEqual([
      { model: 'a', generation: 1, resident: { CUDA0: 1, Host: 1 } },
      { model: 'a', generation: 2, resident: { CUDA0: 1, Host: 1 } },
    ]);
  });

  it('go on when one fails, and say what it said', async () => {
    const { sample, failures } = await combineProbes([BROKEN, probeOf('Host')]).sample([]);
    expect(failures).toEqual([{ devices: [], message: 'broken: the driver’s own words' }]);
    expect(sample.devices.map(({ name }) => name)).toEqual(['Host']);
  });

  it('name the devices that a failing one had served', async () => {
    let fails = false;
    const flaky: DeviceProbe = {
      ...probeOf('CUDA0'),
      sample: (trees) => (fails ? Promise.reject(new Error('GPU is lost')) : probeOf('CUDA0').sample(trees)),
    };
    const combined = combineProbes([flaky, probeOf('Host')]);
    await combined.sample([]);
    fails = true;
    expect((await combined.sample([])).failures).toEqual([{ devices: ['CUDA0'], message: 'CUDA0: GPU is lost' }]);
    fails = false;
    expect((await combined.sample([])).failures).toEqual([]);
  });

  it('name those that there must be, where it never could be read', async () => {
    const silent: DeviceProbe = { ...BROKEN, expects: (words) => (words.includes('own words') ? ['CUDA0'] : []) };
    expect((await combineProbes([silent]).sample([])).failures).toMatchObject([{ devices: ['CUDA0'] }]);
  });

  it('say of devices that must be there, and that nobody can be asked about, that it stays like that', async () => {
    const absent = (): DeviceProbe => ({
      ...BROKEN,
      name: 'nvml',
      sample: () => Promise.reject(new ProbeAbsent('no such library')),
    });
    const lasting = createFallbackProbe('nvidia', [absent], (words) => (words === null ? ['CUDA0'] : []));
    expect((await combineProbes([lasting]).sample([])).failures).toEqual([
      {
        devices: ['CUDA0'],
        message: 'nvidia: CUDA0 is there, but cannot be asked (nvml cannot be had: no such library)',
        lasting: true,
      },
    ]);
    expect((await combineProbes([createFallbackProbe('nvidia', [absent])]).sample([])).failures).toEqual([]);
  });

  it('are all asked about whole process trees', async () => {
    const asked: (readonly ProcessTree[])[] = [];
    const complete = (trees: readonly ProcessTree[]): Promise<readonly ProcessTree[]> =>
      Promise.resolve(trees.map((tree) => ({ ...tree, pids: [...tree.pids, 11] })));
    const combined = combineProbes([probeOf('CUDA0', asked), probeOf('Host', asked)], { complete });
    await combined.sample([{ model: 'a', generation: 1, pids: [10] }]);
    expect(asked.map(([tree]) => tree?.pids)).toEqual([
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

describe('a probe that does not answer', () => {
  it('is waited for once, and keeps nobody waiting after that until it has answered', async () => {
    const answers: PromiseWithResolvers<null>[] = [];
    const slow: DeviceProbe = {
      ...probeOf('CUDA0'),
      async sample(trees) {
        const answer = Promise.withResolvers<null>();
        answers.push(answer);
        await answer.promise;
        return probeOf('CUDA0').sample(trees);
      },
    };
    const patient = new Patient(slow, 30_000, 300);
    const late = await patient.sample([]);
    expect(late.failure?.message).toBe('CUDA0: no answer yet; the driver hangs, or is very slow');
    // Its patience of 30 s would outlast this test.
    expect((await patient.sample([])).failure).toEqual(late.failure);
    expect(answers).toHaveLength(1);
    answers[0]?.resolve(null);
    const answered = await until('it is asked again', async () => {
      const pending = patient.sample([]);
      answers[1]?.resolve(null);
      return (await pending).sample;
    });
    expect(answered.devices.map(({ name }) => name)).toEqual(['CUDA0']);
  });
});
