import { describe, expect, it } from 'vitest';
import { EngineNames } from '../../src/devices/engine-names.js';
import type { CombinedSample } from '../../src/devices/combined-probe.js';

const sampleOf = (...names: readonly string[]): CombinedSample => ({
  sample: {
    devices: [...names, 'Host'].map((name) => ({
      name,
      kind: name === 'Host' ? 'host' : 'discrete',
      description: '',
      totalBytes: 9,
      usedBytes: 1,
      attributed: true,
    })),
    instances: [{ model: 'a', generation: 1, resident: Object.fromEntries(names.map((name) => [name, 1])) }],
  },
  failures: [],
});
const namesOf = ({ sample }: CombinedSample): readonly string[] => sample.devices.map(({ name }) => name);

describe('the names of devices', () => {
  it.each([
    ['says nothing', null],
    ['knows them', ['CUDA0', 'CUDA1']],
    ['knows none', []],
  ])('are the driver’s where the engine %s', (_case, devices) => {
    const sample = sampleOf('CUDA0', 'CUDA1');
    expect(new EngineNames(() => devices).apply(sample)).toEqual(sample);
  });

  it('are the same for how busy a device is', () => {
    const busy = { utilizationPercent: 37, temperatureCelsius: null, powerMilliwatts: null };
    const { sample, failures } = sampleOf('CUDA0');
    const named = new EngineNames(() => ['Vulkan0']).apply({
      sample: { ...sample, activity: { CUDA0: busy } },
      failures,
    });
    expect(named.sample.activity).toEqual({ Vulkan0: busy });
  });

  it('are the engine’s where there is one GPU on either side, also while it cannot be read', () => {
    const names = new EngineNames(() => ['Vulkan0']);
    const named = names.apply(sampleOf('CUDA0'));
    expect(namesOf(named)).toEqual(['Vulkan0', 'Host']);
    expect(named.sample.instances[0]?.resident).toEqual({ Vulkan0: 1 });
    const failing = { ...sampleOf(), failures: [{ devices: ['CUDA0'], message: 'GPU is lost' }] };
    expect(names.apply(failing).failures).toEqual([{ devices: ['Vulkan0'], message: 'GPU is lost' }]);
  });

  it('may be any of the engine’s that nobody has read, where a driver fails before it has shown one', () => {
    const names = new EngineNames(() => ['Vulkan0', 'Vulkan1']);
    const failing = { ...sampleOf(), failures: [{ devices: ['CUDA0'], message: 'Driver Not Loaded' }] };
    expect(names.apply(failing).failures[0]?.devices).toEqual(['Vulkan0', 'Vulkan1']);
    names.apply(sampleOf('CUDA0', 'Vulkan1'));
    expect(names.apply(failing).failures[0]?.devices, 'it is known by its own name since').toEqual(['CUDA0']);
  });

  it('say that they cannot be matched where there are several', () => {
    const { sample } = new EngineNames(() => ['Vulkan0', 'Vulkan1']).apply(sampleOf('CUDA0', 'AMD0'));
    expect(sample.devices.map(({ name, remark }) => [name, remark?.slice(0, 24)])).toEqual([
      ['CUDA0', 'the engine has no device'],
      ['AMD0', 'the engine has no device'],
      ['Host', undefined],
    ]);
  });
});
