import { describe, expect, it, onTestFinished } from 'vitest';
import { openNvml } from '../../native/nvml.js';
import { createDrmProbe } from '../../src/devices/drm/drm-probe.js';
import { createFallbackProbe } from '../../src/devices/fallback-probe.js';
import { createHostProbe } from '../../src/devices/host-probe.js';
import { createNvmlProbe } from '../../src/devices/nvidia/nvml-probe.js';
import { createNvidiaSmiProbe } from '../../src/devices/nvidia/smi-probe.js';
import type { DeviceProbe, ProbeSample, ProcessTree } from '../../src/devices/probe.js';
import { writeHolding } from '../../src/devices/sim-ledger.js';
import { createSimProbe } from '../../src/devices/sim-probe.js';
import { GIB, MIB } from '../../src/scheduler/units.js';
import { drmTree, fdinfo } from '../support/drm-tree.js';
import { fakeNvidiaSmi } from '../support/fake-nvidia-smi.js';
import { answering, fakeNvml } from '../support/fake-nvml.js';
import { tempTree } from '../support/temp-tree.js';

const OURS = process.pid;
const STRANGERS = Array.from({ length: 9 }, (_, index) => ({ pid: 2 ** 22 + index + 1, bytes: (index + 1) * MIB }));
const TREES: readonly ProcessTree[] = [
  { model: 'a', generation: 1, pids: [OURS] },
  { model: 'b', generation: 2, pids: [2 ** 22 + 4000] },
];

const gpu = (index: number, compute: readonly { pid: number; bytes: number | null }[]) => ({
  uuid: `GPU-${index}`,
  busId: `00000000:0${index}:00.0`,
  name: 'NVIDIA X',
  memory: { total: 8 * GIB, free: 6 * GIB },
  compute,
});
const nvml = (...gpus: readonly ReturnType<typeof gpu>[]): DeviceProbe =>
  createNvmlProbe({
    command: answering({ driver: null, gpus: openNvml(fakeNvml({ gpus })).read() }),
    pidsAreOurs: true,
    visibleDevices: undefined,
  });
const smi = (gpus: string, apps: string): DeviceProbe =>
  createNvidiaSmiProbe({ ...fakeNvidiaSmi({ gpus, apps }), pidsAreOurs: true, visibleDevices: undefined });
const eightGpus = Array.from({ length: 8 }, (_, index) => index + 1);

/** Every probe, on machines of every kind. */
const PROBES: readonly (readonly [string, () => DeviceProbe])[] = [
  ['nvml', () => nvml(gpu(1, [{ pid: OURS, bytes: GIB }, ...STRANGERS]), gpu(2, []))],
  ['nvml with processes that are not told', () => nvml(gpu(1, [{ pid: OURS, bytes: null }]), gpu(2, STRANGERS))],
  ['nvml with 8 GPUs', () => nvml(...eightGpus.map((index) => gpu(index, STRANGERS)))],
  ['nvml without GPUs', () => nvml()],
  [
    'nvidia-smi',
    () => smi('GPU-1, 00000000:01:00.0, NVIDIA X, 8192, 100, 6144, [N/A]', `GPU-1, ${OURS}, 1024\nGPU-1, 4194400, 20`),
  ],
  [
    'nvidia-smi on WSL',
    () => smi('GPU-1, 00000000:01:00.0, NVIDIA X, 8192, 100, 6144, [N/A]', `GPU-1, ${OURS}, [N/A]`),
  ],
  [
    'nvidia-smi with 8 GPUs',
    () => smi(eightGpus.map((n) => `GPU-${n}, 00000000:0${n}:00.0, X, 8192, 1, 8191, Disabled`).join('\n'), ''),
  ],
  [
    'amdgpu',
    () =>
      createDrmProbe({
        environment: {},
        root: tempTree({
          ...drmTree({
            card: 0,
            driver: 'amdgpu',
            pci: '0000:03:00.0',
            files: { mem_info_vram_total: String(8 * GIB), mem_info_vram_used: String(2 * GIB) },
          }),
          [`proc/${OURS}/fdinfo/9`]: fdinfo('amdgpu', '0000:03:00.0', 1, 'drm-memory-vram: 1 GiB'),
        }),
      }),
  ],
  [
    'i915',
    () =>
      createDrmProbe({
        environment: {},
        root: tempTree({
          ...drmTree({
            ...{ card: 0, driver: 'i915', pci: '0000:03:00.0', pciId: '8086:56A0' },
            cardFiles: { lmem_total_bytes: String(8 * GIB), lmem_avail_bytes: String(6 * GIB) },
          }),
          [`proc/${OURS}/fdinfo/9`]: fdinfo('i915', '0000:03:00.0', 1, 'drm-resident-local0: 1 GiB'),
        }),
      }),
  ],
  ['amdgpu without cards', () => createDrmProbe({ root: tempTree({}) })],
  ['host', () => createHostProbe()],
  [
    'sim',
    () => {
      const ledgerDirectory = tempTree({});
      writeHolding(ledgerDirectory, { pid: OURS, startTime: null, devices: { CUDA0: GIB } });
      return createSimProbe({ devices: [{ name: 'CUDA0', totalBytes: 8 * GIB }], ledgerDirectory });
    },
  ],
  ['one that stands in for another', () => createFallbackProbe('x', [() => nvml(gpu(1, []))])],
  ['one that has nothing left to ask', () => createFallbackProbe('x', [])],
];

describe.each(PROBES)('%s', (_name, create) => {
  const probe = (): DeviceProbe => {
    const one = create();
    onTestFinished(() => one.close());
    return one;
  };

  it('gives figures that add up, of devices that it names once, and says where they are from', async () => {
    const { devices } = await probe().sample(TREES);
    expect(new Set(devices.map(({ name }) => name)).size).toBe(devices.length);
    for (const { totalBytes, usedBytes, name, description, source } of devices) {
      expect([totalBytes, usedBytes].every(Number.isSafeInteger)).toBe(true);
      expect(totalBytes).toBeGreaterThan(0);
      expect(usedBytes).toBeGreaterThanOrEqual(0);
      expect(usedBytes).toBeLessThanOrEqual(totalBytes);
      expect([name, description, source]).not.toContain('');
      expect(source).toBeDefined();
    }
  });

  it('knows what each of ours holds exactly where it says so: unknown is not zero', async () => {
    const { devices, instances } = await probe().sample(TREES);
    const attributed = devices.filter((device) => device.attributed).map(({ name }) => name);
    for (const { model, generation } of TREES) {
      const reading = instances.find((instance) => instance.generation === generation);
      expect(Object.keys(reading?.resident ?? {}).sort()).toEqual(attributed.toSorted());
      if (reading !== undefined) expect(reading.model).toBe(model);
    }
    for (const { resident } of instances) expect(Object.values(resident).every(Number.isSafeInteger)).toBe(true);
    expect((await probe().sample([])).instances).toEqual([]);
  });

  it('says why where it does not', async () => {
    const { devices } = await probe().sample(TREES);
    for (const { attributed, remark = '' } of devices) if (!attributed) expect(remark).toMatch(/[a-z]/);
  });

  it('names a few of the largest strangers, and none of ours', async () => {
    for (const { foreign = [] } of (await probe().sample(TREES)).devices) {
      expect(foreign.length).toBeLessThanOrEqual(5);
      expect(foreign.map(({ pid }) => pid)).not.toContain(OURS);
      expect(foreign.map(({ bytes }) => bytes)).toEqual(foreign.map(({ bytes }) => bytes).toSorted((a, b) => b - a));
      for (const { name } of foreign) expect(name).not.toMatch(/\p{C}/u);
    }
  });

  it('is plain JSON, since it is recorded', async () => {
    const sample = await probe().sample(TREES);
    expect(JSON.parse(JSON.stringify(sample))).toEqual(sample);
  });

  it('answers several who ask at once, again and again, and may be closed twice', async () => {
    const one = probe();
    const names = ({ devices }: ProbeSample): readonly string[] => devices.map(({ name }) => name);
    const [first, second] = await Promise.all([one.sample(TREES), one.sample([])]);
    expect(names(second)).toEqual(names(first));
    expect(names(await one.sample(TREES))).toEqual(names(first));
    one.close();
    one.close();
  });
});
