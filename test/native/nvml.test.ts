import { describe, expect, it } from 'vitest';
import { loadNvml } from '../../native/nvml-library.js';
import { NvmlError, openNvml } from '../../native/nvml.js';
import { MIB } from '../../src/scheduler/units.js';
import { fakeNvml, type FakeGpu } from '../support/fake-nvml.js';

const GPU: FakeGpu = {
  uuid: 'GPU-aaaa',
  busId: '00000000:01:00.0',
  name: 'NVIDIA GeForce RTX 3090',
  memory: { total: 24576 * MIB, free: 15200 * MIB, reserved: 376 * MIB },
};
const PROCESSES = [
  { pid: 4242, bytes: 6000 * MIB },
  { pid: 99, bytes: 1500 * MIB },
  { pid: 7, bytes: null },
];

describe('NVML', () => {
  it('tells GPUs by identity, with what is free of them', () => {
    const nvml = openNvml(fakeNvml({ gpus: [GPU] }));
    expect(nvml.driverVersion).toBe('550.90.07');
    expect(nvml.read()).toEqual([
      {
        uuid: 'GPU-aaaa',
        busId: '00000000:01:00.0',
        name: 'NVIDIA GeForce RTX 3090',
        memory: { totalBytes: 24576 * MIB, freeBytes: 15200 * MIB },
        processes: [],
        slices: null,
        instance: null,
        error: null,
        sharesSystemMemory: false,
      },
    ]);
  });

  it('reads the older structure of memory where the driver has no other', () => {
    const nvml = openNvml(fakeNvml({ gpus: [GPU], missing: ['nvmlDeviceGetMemoryInfo_v2'] }));
    expect(nvml.read()[0]?.memory).toEqual({ totalBytes: 24576 * MIB, freeBytes: 15200 * MIB });
  });

  const LISTS = ['nvmlDeviceGetComputeRunningProcesses', 'nvmlDeviceGetGraphicsRunningProcesses'];
  it.each([
    ['version 3', [], 24],
    ['version 3 as early 535 drivers have it', [], 32],
    ['version 2', LISTS.map((name) => `${name}_v3`), 24],
    ['version 1', LISTS.flatMap((name) => [`${name}_v3`, `${name}_v2`]), 24],
  ] as const)('reads lists of processes of %s', (_version, missing, processBytes) => {
    const nvml = openNvml(fakeNvml({ gpus: [{ ...GPU, compute: PROCESSES }], missing, processBytes }));
    expect(nvml.read()[0]?.processes).toEqual(PROCESSES);
  });

  it('reads lists that are longer than expected', () => {
    const compute = Array.from({ length: 100 }, (_, index) => ({ pid: index + 1, bytes: index * MIB }));
    expect(openNvml(fakeNvml({ gpus: [{ ...GPU, compute }] })).read()[0]?.processes).toEqual(compute);
  });

  it('counts a process that computes and draws once', () => {
    const graphics = [
      { pid: 4242, bytes: 6000 * MIB },
      { pid: 1000, bytes: 80 * MIB },
    ];
    const [gpu] = openNvml(fakeNvml({ gpus: [{ ...GPU, compute: PROCESSES, graphics }] })).read();
    expect(gpu?.processes).toEqual([...PROCESSES, { pid: 1000, bytes: 80 * MIB }]);
  });

  it('does not take processes that it may not see for none', () => {
    expect(openNvml(fakeNvml({ gpus: [{ ...GPU, compute: 4 }] })).read()[0]?.processes).toBeNull();
  });

  it('speaks of the GPUs that are left when one is lost, which keeps its identity', () => {
    const other: FakeGpu = { ...GPU, uuid: 'GPU-bbbb', busId: '00000000:41:00.0' };
    const gpus = [GPU, other];
    const nvml = openNvml(fakeNvml({ gpus }));
    nvml.read();
    gpus[0] = { ...GPU, lost: 15 };
    const [lost, left] = nvml.read();
    expect(lost).toMatchObject({
      uuid: 'GPU-aaaa',
      busId: '00000000:01:00.0',
      memory: null,
      error: 'GPU is lost (nvmlDeviceGetHandleByIndex_v2, code 15)',
    });
    expect(left?.memory).not.toBeNull();
  });

  it('knows a GPU without memory of its own by the driver’s answer', () => {
    expect(openNvml(fakeNvml({ gpus: [{ ...GPU, memory: 3 }] })).read()[0]).toMatchObject({
      memory: null,
      sharesSystemMemory: true,
      error: 'Not Supported (nvmlDeviceGetMemoryInfo, code 3)',
    });
  });

  it('tells the slices of a GPU in MIG mode apart', () => {
    const slice: FakeGpu = {
      uuid: 'MIG-1111',
      busId: '',
      name: 'NVIDIA A100 MIG 1g.5gb',
      memory: { total: 4864 * MIB, free: 4800 * MIB },
      compute: [{ pid: 5, bytes: 64 * MIB }],
    };
    const [gpu] = openNvml(fakeNvml({ gpus: [{ ...GPU, slices: [slice] }] })).read();
    expect(gpu?.memory).toBeNull();
    expect(gpu?.slices).toMatchObject([
      {
        uuid: 'MIG-1111',
        busId: '00000000:01:00.0',
        memory: { totalBytes: 4864 * MIB, freeBytes: 4800 * MIB },
        processes: [{ pid: 5, bytes: 64 * MIB }],
      },
    ]);
  });

  it('tells how busy a GPU is, as far as the driver does', () => {
    expect(openNvml(fakeNvml({ gpus: [GPU] })).activity(0)).toEqual({
      utilizationPercent: 37,
      temperatureCelsius: 61,
      powerMilliwatts: null,
    });
  });

  it('passes on the driver’s own words when it refuses', () => {
    const open = (): unknown => openNvml(fakeNvml({ gpus: [], initCode: 18 }));
    expect(open).toThrow(NvmlError);
    expect(open).toThrow('Driver/library version mismatch (nvmlInit_v2, code 18)');
  });

  it('says that there is none where there never is', () => {
    expect(() => loadNvml('darwin')).toThrow('there is no NVML on this system');
  });
});
