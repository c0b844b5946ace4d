import { describe, expect, it, onTestFinished } from 'vitest';
import { openNvml } from '../../../native/nvml.js';
import { createFallbackProbe } from '../../../src/devices/fallback-probe.js';
import { createNvmlProbe, type NvmlProbeOptions } from '../../../src/devices/nvidia/nvml-probe.js';
import { createNvidiaSmiProbe } from '../../../src/devices/nvidia/smi-probe.js';
import type { DeviceProbe } from '../../../src/devices/probe.js';
import { MIB } from '../../../src/scheduler/units.js';
import { fakeNvidiaSmi } from '../../support/fake-nvidia-smi.js';
import { answering, fakeNvml, type FakeGpu } from '../../support/fake-nvml.js';
import { until } from '../../support/until.js';

const STRANGER = 2 ** 22 + 99;
const BIG: FakeGpu = {
  uuid: 'GPU-aaaa-1111',
  busId: '00000000:01:00.0',
  name: 'NVIDIA GeForce RTX 3090',
  memory: { total: 24576 * MIB, free: 15200 * MIB },
  compute: [
    { pid: 4242, bytes: 6000 * MIB },
    { pid: STRANGER, bytes: 1500 * MIB },
  ],
};
const SMALL: FakeGpu = {
  ...BIG,
  uuid: 'GPU-bbbb-2222',
  busId: '00000000:41:00.0',
  name: 'NVIDIA GeForce RTX 3060',
  memory: { total: 12288 * MIB, free: 11653 * MIB },
  compute: [],
};
const A100: FakeGpu = {
  ...BIG,
  uuid: 'GPU-cccc-3333',
  busId: '00000000:02:00.0',
  name: 'NVIDIA A100',
  slices: [1, 2].map((slice) => ({
    ...BIG,
    uuid: `MIG-${slice}${slice}${slice}${slice}`,
    name: `NVIDIA A100 MIG ${slice}g`,
    memory: { total: slice * 5000 * MIB, free: slice * 4900 * MIB },
    compute: [],
    instance: [slice, 0],
  })),
};
const TREES = [{ model: 'a', generation: 1, pids: [4242] }];

/** What the reading program says of these GPUs: its own code, over a library in JavaScript. */
const said = (...gpus: readonly FakeGpu[]): object => ({ driver: '550', gpus: openNvml(fakeNvml({ gpus })).read() });

function probe(replies: readonly object[], options: NvmlProbeOptions = {}): DeviceProbe {
  const one = createNvmlProbe({
    command: answering(...replies),
    pidsAreOurs: true,
    visibleDevices: undefined,
    pciDirectory: '/nowhere',
    limits: { pauseMillis: 1 },
    ...options,
  });
  onTestFinished(() => one.close());
  return one;
}

describe('NVML', () => {
  it('gives GPUs in bus order, what ours hold, and who else is there', async () => {
    const { devices, instances } = await probe([said(SMALL, BIG)]).sample(TREES);
    expect(devices).toEqual([
      {
        name: 'CUDA0',
        kind: 'discrete',
        description: 'NVIDIA GeForce RTX 3090',
        totalBytes: 24576 * MIB,
        usedBytes: (24576 - 15200) * MIB,
        attributed: true,
        source: 'nvml',
        foreign: [{ pid: STRANGER, name: '', bytes: 1500 * MIB }],
      },
      {
        name: 'CUDA1',
        kind: 'discrete',
        description: 'NVIDIA GeForce RTX 3060',
        totalBytes: 12288 * MIB,
        usedBytes: (12288 - 11653) * MIB,
        attributed: true,
        source: 'nvml',
      },
    ]);
    expect(instances).toEqual([{ model: 'a', generation: 1, resident: { CUDA0: 6000 * MIB, CUDA1: 0 } }]);
  });

  it('tells how busy the GPUs are, by the names that they have here, and nothing of one that does not tell', async () => {
    const busy = { utilizationPercent: 37, temperatureCelsius: 61, powerMilliwatts: null };
    const reply = { ...said(SMALL, BIG), activity: [null, busy] };
    expect((await probe([reply]).sample([])).activity).toEqual({ CUDA0: busy });
    expect(await probe([said(SMALL, BIG)]).sample([])).not.toHaveProperty('activity');
  });

  it.each([
    ['1', ['NVIDIA A100']],
    ['GPU-bbbb,GPU-aaaa', ['NVIDIA GeForce RTX 3060', 'NVIDIA GeForce RTX 3090']],
    ['MIG-2222', ['NVIDIA A100 MIG 2g']],
    ['MIG-2222,MIG-1111', ['NVIDIA A100 MIG 2g']],
    ['MIG-9999', []],
    ['MIG-', []],
    ['MIG-GPU-cccc-3333/2/0', ['NVIDIA A100 MIG 2g']],
    ['MIG-GPU-cccc/1/0,0', ['NVIDIA A100 MIG 1g']],
    ['MIG-GPU-cccc-3333/1/1', []],
    ['MIG-GPU-aaaa-1111/1/0', []],
    ['0,MIG-GPU-cccc-3333/7/0', ['NVIDIA GeForce RTX 3090']],
  ])('finds what a child calls CUDA0 with CUDA_VISIBLE_DEVICES=%s', async (visibleDevices, names) => {
    const { devices, failures = [] } = await probe([said(BIG, A100, SMALL)], { visibleDevices }).sample([]);
    const about = [...devices.map(({ description }) => description), ...failures.map(({ message }) => message)];
    expect(about).toEqual(names.map((name) => expect.stringContaining(name) as string));
  });

  it('finds a slice that an old driver itself names in the older way', async () => {
    const slices = ['1/0', '1/1', '1/10'].map((numbers, index) => ({
      ...BIG,
      uuid: `MIG-GPU-cccc-3333/${numbers}`,
      name: `slice ${index}`,
      compute: [],
    }));
    const one = probe([said({ ...A100, slices })], { visibleDevices: 'MIG-GPU-cccc-3333/1/1' });
    expect((await one.sample([])).devices.map(({ description }) => description)).toEqual(['slice 1']);
  });

  it('keeps the number of a GPU that is in MIG mode, or lost, and says why it is not known', async () => {
    const lost = { uuid: 'GPU-aaaa-1111', busId: BIG.busId, name: BIG.name, memory: null, processes: null };
    const reply = said(A100, SMALL) as { gpus: object[] };
    const gone = { ...lost, slices: null, sharesSystemMemory: false, error: 'GPU is lost (…)' };
    const { devices, failures } = await probe([{ ...reply, gpus: [gone, ...reply.gpus] }]).sample([]);
    expect(devices.map(({ name, description }) => [name, description])).toEqual([['CUDA2', 'NVIDIA GeForce RTX 3060']]);
    expect(failures).toEqual([
      { devices: ['CUDA0'], message: 'nvml: NVIDIA GeForce RTX 3090 (00000000:01:00.0): GPU is lost (…)' },
      {
        devices: ['CUDA1'],
        message: expect.stringContaining('is in MIG mode; name one of its slices') as string,
        lasting: true,
      },
    ]);
  });

  it('counts a GPU that shares system memory as what it is', async () => {
    const { devices, instances } = await probe([said({ ...BIG, name: 'NVIDIA GB10', memory: 3 })]).sample(TREES);
    expect(devices).toMatchObject([{ name: 'CUDA0', kind: 'unified', attributed: false }]);
    expect(devices[0]?.totalBytes).toBeGreaterThan(0);
    expect(instances).toEqual([]);
  });

  it.each([
    ['memory of processes is not available', { ...BIG, compute: [{ pid: 4242, bytes: null }] }, 'does not tell'],
    ['processes may not be seen', { ...BIG, compute: 4 }, 'does not tell'],
  ])('attributes nothing where %s, and says so', async (_case, gpu, remark) => {
    const { devices, instances } = await probe([said(gpu)]).sample(TREES);
    expect(devices[0]).toMatchObject({ attributed: false, remark: expect.stringContaining(remark) as string });
    expect(instances).toEqual([]);
  });

  it('attributes nothing in a container until one of ours is seen', async () => {
    const one = probe([said({ ...BIG, compute: [] }), said(BIG), said({ ...BIG, compute: [] })], {
      pidsAreOurs: false,
    });
    const hidden = await one.sample(TREES);
    expect(hidden.devices[0]).toMatchObject({
      attributed: false,
      remark: 'the driver does not show the processes of a container; who holds what is not known',
    });
    expect(hidden.instances).toEqual([]);
    expect((await one.sample(TREES)).instances[0]?.resident).toEqual({ CUDA0: 6000 * MIB });
    expect((await one.sample(TREES)).instances[0]?.resident).toEqual({ CUDA0: 0 });
  });

  it('passes on the driver’s own words, and is well again by itself', async () => {
    const one = probe([{ error: 'Driver/library version mismatch (nvmlInit_v2, code 18)' }], {
      limits: { pauseMillis: 600_000 },
    });
    await expect(one.sample([])).rejects.toThrow('Driver/library version mismatch');
    await expect(one.sample([])).rejects.toThrow('Driver/library version mismatch');
  });

  it('gives way to nvidia-smi where there is no library, and both where there is nothing', async () => {
    const absent = (): DeviceProbe => probe([{ absent: 'libnvidia-ml.so.1: cannot open shared object file' }]);
    const gpus = 'GPU-aaaa, 00000000:01:00.0, NVIDIA GeForce RTX 3090, 24576, 9000, 15200, [N/A]';
    const { file } = fakeNvidiaSmi({ gpus });
    const one = createFallbackProbe('nvidia', [absent, () => createNvidiaSmiProbe({ file, pidsAreOurs: true })]);
    expect((await one.sample([])).devices).toMatchObject([{ name: 'CUDA0', source: 'nvidia-smi' }]);
    expect(one.notes).toEqual(['nvml cannot be had: libnvidia-ml.so.1: cannot open shared object file']);

    const none = createFallbackProbe('nvidia', [absent, () => createNvidiaSmiProbe({ file: '/nowhere/nvidia-smi' })]);
    expect(await none.sample([])).toEqual({ devices: [], instances: [] });
    expect(none.notes).toEqual([]);
  });

  it('gives way when its reader can never be had alive', async () => {
    const crashing = (): DeviceProbe =>
      probe([], { command: { file: process.execPath, args: ['-e', 'process.kill(process.pid, "SIGSEGV")'] } });
    const { file } = fakeNvidiaSmi({ gpus: 'GPU-aaaa, 00000000:01:00.0, X, 24576, 9000, 15200, [N/A]' });
    const one = createFallbackProbe('nvidia', [crashing, () => createNvidiaSmiProbe({ file, pidsAreOurs: true })]);
    const source = await until('it gave way', async () => {
      return (await one.sample([]).catch(() => null))?.devices[0]?.source;
    });
    expect(source).toBe('nvidia-smi');
  });
});
