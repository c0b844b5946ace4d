import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDrmProbe, type DrmProbeOptions } from '../../../src/devices/drm/drm-probe.js';
import { parseFdinfo } from '../../../src/devices/drm/fdinfo.js';
import type { DeviceProbe } from '../../../src/devices/probe.js';
import { GIB, MIB } from '../../../src/scheduler/units.js';
import { drmTree, fdinfo, gpuMetrics, kfdNode } from '../../support/drm-tree.js';
import { tempTree, type Tree } from '../../support/temp-tree.js';

const RX_7900 = {
  card: 1,
  driver: 'amdgpu',
  pci: '0000:03:00.0',
  files: {
    mem_info_vram_total: `${24 * GIB}\n`,
    mem_info_vram_used: `${7 * GIB}\n`,
    mem_info_gtt_total: `${32 * GIB}\n`,
    mem_info_gtt_used: `${100 * MIB}\n`,
    gpu_metrics: gpuMetrics(1),
    'power/runtime_status': 'active\n',
  },
} as const;
const RX_6600 = {
  ...RX_7900,
  card: 0,
  pci: '0000:0a:00.0',
  pciId: '1002:73FF',
  files: { ...RX_7900.files, mem_info_vram_total: `${8 * GIB}\n`, mem_info_vram_used: `${1 * GIB}\n` },
} as const;
const TREES = [
  { model: 'a', generation: 1, pids: [4242, 4243] },
  { model: 'b', generation: 2, pids: [5000] },
];

function probe(tree: Tree, options: Partial<DrmProbeOptions> = {}): DeviceProbe {
  const root = tempTree(tree);
  return createDrmProbe({ root, environment: {}, availableBytes: () => Promise.resolve(20 * GIB), ...options });
}

describe('a card of AMD', () => {
  it('has the memory that its driver says, and what our processes hold of it', async () => {
    const { devices, instances } = await probe({
      ...drmTree(RX_7900),
      'proc/4242/fdinfo/0': 'pos:\t0\nflags:\t02\n',
      'proc/4242/fdinfo/11': fdinfo(
        'amdgpu',
        '0000:03:00.0',
        7,
        'drm-memory-vram:\t2097152 KiB',
        'drm-memory-gtt: 9 KiB',
      ),
      // The same client by another descriptor.
      'proc/4242/fdinfo/12': fdinfo('amdgpu', '0000:03:00.0', 7, 'drm-memory-vram:\t2097152 KiB'),
      'proc/4243/fdinfo/3': fdinfo(
        'amdgpu',
        '0000:03:00.0',
        8,
        'drm-total-vram: 2 GiB',
        'drm-resident-vram:\t1024 MiB',
      ),
    }).sample(TREES);
    expect(devices).toEqual([
      {
        name: 'AMD0',
        kind: 'discrete',
        description: 'AMD GPU 1002:744C',
        totalBytes: 24 * GIB,
        usedBytes: 7 * GIB,
        attributed: true,
        source: 'amdgpu',
      },
    ]);
    expect(instances).toEqual([
      { model: 'a', generation: 1, resident: { AMD0: 3 * GIB } },
      { model: 'b', generation: 2, resident: { AMD0: 0 } },
    ]);
  });

  it('is named in ROCm’s order, and computing processes are told by ROCm', async () => {
    const { devices, instances } = await probe({
      ...drmTree(RX_6600, RX_7900),
      ...kfdNode(0, 0, 0),
      ...kfdNode(1, 111, 0x0300),
      ...kfdNode(2, 222, 0x0a00),
      'sys/class/kfd/kfd/proc/4242/vram_111': `${5 * GIB}\n`,
      'sys/class/kfd/kfd/proc/4242/vram_222': '0\n',
      'sys/class/kfd/kfd/proc/4194400/vram_111': `${1 * GIB}\n`,
    }).sample(TREES);
    expect(devices.map(({ name, totalBytes }) => [name, totalBytes])).toEqual([
      ['ROCm0', 24 * GIB],
      ['ROCm1', 8 * GIB],
    ]);
    expect(devices[0]?.foreign).toEqual([{ pid: 4194400, name: '', bytes: 1 * GIB }]);
    expect(instances[0]?.resident).toEqual({ ROCm0: 5 * GIB, ROCm1: 0 });
  });

  it.each([
    [{}, [24, 8]],
    [{ HIP_VISIBLE_DEVICES: '1' }, [8]],
    [{ HIP_VISIBLE_DEVICES: '1,0' }, [8, 24]],
    [{ CUDA_VISIBLE_DEVICES: '1' }, [8]],
    [{ ROCR_VISIBLE_DEVICES: '1', HIP_VISIBLE_DEVICES: '0' }, [8]],
    [{ ROCR_VISIBLE_DEVICES: 'GPU-00000000deadbeef' }, [24]],
    [{ ROCR_VISIBLE_DEVICES: '7' }, []],
    [{ HIP_VISIBLE_DEVICES: '' }, []],
  ])('is what a child sees with %j', async (environment, sizes) => {
    const tree = {
      ...drmTree(RX_6600, RX_7900),
      ...kfdNode(1, 111, 0x0300, String(0xdeadbeef)),
      ...kfdNode(2, 222, 0x0a00),
    };
    const { devices } = await probe(tree, { environment }).sample([]);
    expect(devices.map(({ name, totalBytes }) => [name, totalBytes / GIB])).toEqual(
      sizes.map((size, index) => [`ROCm${index}`, size]),
    );
  });

  it('is not asked while it sleeps: nothing of it is used then', async () => {
    const root = tempTree(drmTree(RX_7900));
    const one = createDrmProbe({ root, environment: {} });
    await one.sample([]);
    const device = join(root, 'sys/class/drm/card1/device');
    writeFileSync(join(device, 'power/runtime_status'), 'suspended\n');
    writeFileSync(join(device, 'mem_info_vram_used'), 'asking would have woken it\n');
    expect((await one.sample([])).devices).toMatchObject([{ totalBytes: 24 * GIB, usedBytes: 0 }]);
  });

  it('is as large as its driver has noted where it sleeps from the start, and is read whole once it wakes', async () => {
    const asleep = { ...RX_7900.files, gpu_metrics: gpuMetrics(2), mem_info_vram_used: 'asking would wake it\n' };
    const root = tempTree(drmTree({ ...RX_7900, files: { ...asleep, 'power/runtime_status': 'suspended\n' } }));
    const one = createDrmProbe({ root, environment: {} });
    const known = { name: 'AMD0', kind: 'discrete', totalBytes: 24 * GIB };
    const seen = await one.sample([]);
    expect([seen.devices, seen.activity, seen.failures]).toMatchObject([
      [{ ...known, usedBytes: 0 }],
      undefined,
      undefined,
    ]);
    const device = join(root, 'sys/class/drm/card1/device');
    writeFileSync(join(device, 'gpu_metrics'), gpuMetrics(1));
    writeFileSync(join(device, 'mem_info_vram_used'), `${7 * GIB}\n`);
    writeFileSync(join(device, 'power/runtime_status'), 'active\n');
    expect((await one.sample([])).devices).toMatchObject([{ ...known, usedBytes: 7 * GIB }]);
  });

  it('does not hide it from others when one does not say how much memory it has', async () => {
    const silent = { ...RX_6600, files: { 'power/runtime_status': 'active\n' } };
    const { devices, failures } = await probe(drmTree(RX_7900, silent)).sample([]);
    expect(devices.map(({ name }) => name)).toEqual(['AMD0']);
    expect(failures).toEqual([
      { devices: ['AMD1'], message: 'amdgpu: 0000:0a:00.0 does not say how much memory it has', lasting: true },
    ]);
  });

  it('is not attributed where the kernel counts no memory of its clients', async () => {
    const { devices, instances } = await probe({
      ...drmTree(RX_7900),
      'proc/4242/fdinfo/11': fdinfo('amdgpu', '0000:03:00.0', 7, 'drm-engine-gfx:\t12 ns'),
    }).sample(TREES);
    expect(devices[0]?.attributed).toBe(false);
    expect(instances).toEqual([]);
  });
});

describe('how busy a card is', () => {
  const SENSORS = {
    gpu_busy_percent: '37\n',
    'hwmon/hwmon4/temp1_input': '61500\n',
    'hwmon/hwmon4/power1_average': '210530000\n',
  };

  it('is what its driver and sensors say', async () => {
    const { activity } = await probe(drmTree({ ...RX_7900, files: { ...RX_7900.files, ...SENSORS } })).sample([]);
    expect(activity).toEqual({
      AMD0: { utilizationPercent: 37, temperatureCelsius: 61.5, powerMilliwatts: 210_530 },
    });
  });

  it('is not known where they say nothing, or only in part', async () => {
    expect(await probe(drmTree(RX_7900)).sample([])).not.toHaveProperty('activity');
    const half = {
      ...RX_7900,
      files: { ...RX_7900.files, gpu_busy_percent: 'EBUSY\n', 'hwmon/hwmon4/temp1_input': '50000\n' },
    };
    expect((await probe(drmTree(half)).sample([])).activity).toEqual({
      AMD0: { utilizationPercent: null, temperatureCelsius: 50, powerMilliwatts: null },
    });
  });

  it('is not asked of a card that sleeps', async () => {
    const root = tempTree(drmTree({ ...RX_7900, files: { ...RX_7900.files, ...SENSORS } }));
    const one = createDrmProbe({ root, environment: {} });
    await one.sample([]);
    writeFileSync(join(root, 'sys/class/drm/card1/device/power/runtime_status'), 'suspended\n');
    expect(await one.sample([])).not.toHaveProperty('activity');
  });
});

describe('a processor with graphics of AMD', () => {
  const APU = {
    ...RX_7900,
    files: {
      ...RX_7900.files,
      mem_info_vram_total: `${4 * GIB}\n`,
      mem_info_vram_used: `${1 * GIB}\n`,
      mem_info_gtt_total: `${28 * GIB}\n`,
      mem_info_gtt_used: `${2 * GIB}\n`,
      gpu_metrics: gpuMetrics(2),
    },
  } as const;

  it.each([
    ['its own part and what it may borrow', 40, 3],
    ['no more than the system has to lend', 10, 32 - (3 + 10)],
  ])('shares system memory: it has %s', async (_what, available, used) => {
    const { devices } = await probe(drmTree(APU), { availableBytes: () => Promise.resolve(available * GIB) }).sample(
      [],
    );
    expect(devices).toMatchObject([{ kind: 'unified', totalBytes: 32 * GIB, usedBytes: used * GIB }]);
    expect(devices[0]?.remark).toContain('shares system memory');
  });

  it('counts what a process has of both', async () => {
    const { instances } = await probe({
      ...drmTree(APU),
      'proc/5000/fdinfo/11': fdinfo('amdgpu', '0000:03:00.0', 7, 'drm-memory-vram: 1 GiB', 'drm-memory-gtt: 2 GiB'),
    }).sample(TREES);
    expect(instances[1]?.resident).toEqual({ AMD0: 3 * GIB });
  });
});

describe('a card of Intel', () => {
  const ARC = { card: 0, driver: 'i915', pci: '0000:03:00.0', pciId: '8086:56A0' } as const;
  const SIZES = { lmem_total_bytes: `${16 * GIB}\n`, lmem_avail_bytes: `${10 * GIB}\n` };
  const BATTLEMAGE = {
    card: 1,
    driver: 'xe',
    pci: '0000:04:00.0',
    pciId: '8086:E20B',
    files: { 'tile0/physical_vram_size_bytes': `${12 * GIB}\n`, 'power/runtime_status': 'active\n' },
  } as const;
  const ASLEEP = { 'power/runtime_status': 'suspended\n' };
  const STRANGER = 2 ** 22 + 7;
  const opens = (pid: number): Tree => ({ [`proc/${pid}/fd/5`]: { linkTo: '/dev/dri/renderD128' } });

  it('is spoken of, but not counted, where its driver shows no size: it is not made up', async () => {
    const one = probe(drmTree(ARC, { ...BATTLEMAGE, files: { 'tile0/freq0/max_freq': '2400\n' } }));
    expect(await one.sample([])).toEqual({ devices: [], instances: [] });
    expect(one.notes).toEqual([
      expect.stringContaining(
        'The Intel GPU at 0000:03:00.0 does not say how much memory it has (i915): its total is unknown',
      ),
      expect.stringContaining('0000:04:00.0'),
    ]);
  });

  it('has the memory that i915 says, and what each process holds of it', async () => {
    const { devices, instances } = await probe({
      ...drmTree({ ...ARC, cardFiles: SIZES }),
      ...opens(STRANGER),
      'proc/4242/fdinfo/9': fdinfo(
        'i915',
        ARC.pci,
        3,
        'drm-total-local0:\t5 GiB',
        'drm-resident-local0:\t4 GiB',
        'drm-resident-system0:\t1 GiB',
      ),
      // A client of another card.
      'proc/4242/fdinfo/10': fdinfo('xe', '0000:09:00.0', 3, 'drm-resident-vram0: 1 GiB'),
      [`proc/${STRANGER}/fdinfo/5`]: fdinfo('i915', ARC.pci, 8, 'drm-resident-local0: 512 MiB'),
    }).sample(TREES);
    expect(devices).toEqual([
      {
        ...{ name: 'Intel0', kind: 'discrete', description: 'Intel GPU 8086:56A0', source: 'i915', attributed: true },
        totalBytes: 16 * GIB,
        usedBytes: 6 * GIB,
        foreign: [{ pid: STRANGER, name: '', bytes: 512 * MIB }],
      },
    ]);
    expect(instances).toEqual([
      { model: 'a', generation: 1, resident: { Intel0: 4 * GIB } },
      { model: 'b', generation: 2, resident: { Intel0: 0 } },
    ]);
  });

  it('is as large as its tiles where it is xe’s; in use is what processes hold that may be looked at, and that is said', async () => {
    const two = { ...BATTLEMAGE.files, 'tile1/memory/physical_vram_size_bytes': `${12 * GIB}\n` };
    const { devices, instances } = await probe({
      ...drmTree({ ...BATTLEMAGE, files: two }),
      ...opens(STRANGER),
      'proc/5000/fdinfo/9': fdinfo('xe', BATTLEMAGE.pci, 3, 'drm-resident-vram0: 1 GiB', 'drm-resident-vram1: 2 GiB'),
      [`proc/${STRANGER}/fdinfo/5`]: fdinfo('xe', BATTLEMAGE.pci, 8, 'drm-resident-vram0: 1024 KiB'),
      // Has no GPU open: not looked into.
      'proc/4194999/fd/5': { linkTo: '/dev/null' },
      'proc/4194999/fdinfo/5': fdinfo('xe', BATTLEMAGE.pci, 9, 'drm-resident-vram0: 7 GiB'),
    }).sample(TREES);
    expect(devices).toMatchObject([
      { name: 'Intel0', totalBytes: 24 * GIB, usedBytes: 3 * GIB + MIB, attributed: true },
    ]);
    expect(devices[0]?.remark).toContain('what other users’ programs hold here is not seen');
    expect(instances[1]?.resident).toEqual({ Intel0: 3 * GIB });
  });

  it('is unknown, not empty, where the kernel neither says what is in use nor counts for processes', async () => {
    const { devices, failures } = await probe({
      ...drmTree(BATTLEMAGE),
      'proc/4242/fdinfo/9': fdinfo('xe', BATTLEMAGE.pci, 3, 'drm-cycles-rcs:\t12'),
    }).sample(TREES);
    expect(devices).toEqual([]);
    expect(failures).toEqual([
      { devices: ['Intel0'], message: 'xe: 0000:04:00.0 does not say what is in use', lasting: true },
    ]);
  });

  it('is not asked while it sleeps', async () => {
    const root = tempTree(drmTree(BATTLEMAGE));
    const one = createDrmProbe({ root, environment: {} });
    await one.sample([]);
    const device = join(root, 'sys/class/drm/card1/device');
    writeFileSync(join(device, 'power/runtime_status'), 'suspended\n');
    writeFileSync(join(device, 'tile0/physical_vram_size_bytes'), 'asking would have woken it\n');
    expect((await one.sample([])).devices).toMatchObject([{ name: 'Intel0', totalBytes: 12 * GIB, usedBytes: 0 }]);
  });

  it.each([
    ['i915', { ...ARC, cardFiles: { ...SIZES, lmem_avail_bytes: 'asking would wake it\n' }, files: ASLEEP }, 16 * GIB],
    ['xe', { ...BATTLEMAGE, files: { ...BATTLEMAGE.files, ...ASLEEP } }, 12 * GIB],
  ])(
    'is as large as %s has noted where it sleeps from the start: nothing else is asked',
    async (_driver, card, totalBytes) => {
      const root = tempTree(drmTree(card));
      const one = createDrmProbe({ root, environment: {} });
      const seen = await one.sample([]);
      expect([seen.devices, seen.activity]).toMatchObject([[{ name: 'Intel0', totalBytes, usedBytes: 0 }], undefined]);
      expect(seen.devices[0]?.remark).toBeUndefined();
    },
  );

  it.each([
    [
      'xe',
      ['drm-total-vram0:\t24 MiB', 'drm-resident-vram0: 23992 KiB', 'drm-total-cycles-rcs: 72'],
      ['vram0', 23992 * 1024],
    ],
    [
      'i915',
      ['drm-total-local0:\t9 MiB', 'drm-resident-local0:\t8 MiB', 'drm-engine-copy:\t0 ns'],
      ['local0', 8 * MIB],
    ],
  ] as const)('is read as %s writes it', (driver, lines, region) => {
    const client = parseFdinfo(fdinfo(driver, '0000:03:00.0', 3, ...lines));
    expect(client).toMatchObject({ driver, pci: '0000:03:00.0', client: '3' });
    expect([...(client?.regions ?? [])]).toEqual([region]);
  });
});

it('a machine without such cards has none', async () => {
  expect(await probe({ 'sys/class/': '' }).sample(TREES)).toEqual({ devices: [], instances: [] });
});
