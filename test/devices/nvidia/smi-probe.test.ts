import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createNvidiaSmiProbe, type NvidiaSmiProbeOptions } from '../../../src/devices/nvidia/smi-probe.js';
import { ProbeAbsent, type DeviceProbe } from '../../../src/devices/probe.js';
import { fakeNvidiaSmi, type FakeNvidiaSmi } from '../../support/fake-nvidia-smi.js';
import { recordedSmi } from '../../support/recorded-smi.js';
import { MIB } from '../../../src/scheduler/units.js';

/** As a 550 driver prints them; bus order is not index order. */
const { gpus: TWO_GPUS = '', apps: APPS = '' } = recordedSmi('two-gpus');
/** Beyond any pid that a system gives out: nobody has it, so nothing is found out about it. */
const STRANGER = 2 ** 22 + 99;
const TREES = [
  { model: 'a', generation: 1, pids: [4242, 4243] },
  { model: 'b', generation: 2, pids: [5000] },
];

function probe(answers: FakeNvidiaSmi, options: Partial<NvidiaSmiProbeOptions> = {}): DeviceProbe {
  return createNvidiaSmiProbe({
    file: fakeNvidiaSmi(answers).file,
    pidsAreOurs: true,
    pciDirectory: '/nowhere',
    ...options,
  });
}

describe.runIf(process.platform !== 'win32')('nvidia-smi', () => {
  it('gives GPUs in bus order, and what the driver keeps for itself as used', async () => {
    const { devices } = await probe({ gpus: TWO_GPUS, apps: APPS }).sample(TREES);
    expect(devices).toEqual([
      {
        name: 'CUDA0',
        kind: 'discrete',
        description: 'NVIDIA GeForce RTX 3090',
        totalBytes: 24576 * MIB,
        usedBytes: (24576 - 15200) * MIB,
        attributed: true,
        source: 'nvidia-smi',
        foreign: [{ pid: STRANGER, name: '', bytes: 1500 * MIB }],
      },
      {
        name: 'CUDA1',
        kind: 'discrete',
        description: 'NVIDIA GeForce RTX 3060',
        totalBytes: 12288 * MIB,
        usedBytes: (12288 - 11653) * MIB,
        attributed: true,
        source: 'nvidia-smi',
        foreign: [{ pid: STRANGER, name: '', bytes: 40 * MIB }],
      },
    ]);
  });

  it('adds up what the processes of an instance hold, on every GPU', async () => {
    const { instances } = await probe({ gpus: TWO_GPUS, apps: APPS }).sample(TREES);
    expect(instances).toEqual([
      { model: 'a', generation: 1, resident: { CUDA0: 7000 * MIB, CUDA1: 0 } },
      { model: 'b', generation: 2, resident: { CUDA0: 0, CUDA1: 0 } },
    ]);
  });

  it.each([
    ['1', ['NVIDIA GeForce RTX 3060']],
    ['1,0', ['NVIDIA GeForce RTX 3060', 'NVIDIA GeForce RTX 3090']],
    ['GPU-bb', ['NVIDIA GeForce RTX 3060']],
    ['0,7,1', ['NVIDIA GeForce RTX 3090']],
    ['0,0', ['NVIDIA GeForce RTX 3090']],
    ['', []],
    ['-1', []],
  ])('names what a child sees with CUDA_VISIBLE_DEVICES=%j', async (visibleDevices, names) => {
    const { devices } = await probe({ gpus: TWO_GPUS }, { visibleDevices }).sample([]);
    expect(devices.map(({ description }) => description)).toEqual(names);
    expect(devices.map(({ name }) => name)).toEqual(names.map((_, index) => `CUDA${index}`));
  });

  it('does not take a process that a container hides for one that holds nothing', async () => {
    const hidden = await probe({ gpus: TWO_GPUS, apps: '' }, { pidsAreOurs: false }).sample(TREES);
    expect(hidden.devices.map(({ attributed }) => attributed)).toEqual([false, false]);
    expect(hidden.instances).toEqual([]);
    const seen = await probe({ gpus: TWO_GPUS, apps: APPS }, { pidsAreOurs: false }).sample(TREES);
    expect(seen.devices.map(({ attributed }) => attributed)).toEqual([true, true]);
  });

  it('works with drivers that do not know the newest field', async () => {
    const old = fakeNvidiaSmi({
      gpus: TWO_GPUS.replaceAll(/, \[N\/A\].*/g, ''),
      script: `case "$1" in
        --query-gpu=*mig.mode*) echo 'Field "mig.mode.current" is not a valid field to query.'; exit 2 ;;
        --query-gpu=*) cat "$here/gpus" ;;
      esac`,
    });
    const oldProbe = createNvidiaSmiProbe({ file: old.file, pidsAreOurs: true });
    expect((await oldProbe.sample([])).devices).toHaveLength(2);
    await oldProbe.sample([]);
    expect(old.calls().filter((call) => call.includes('mig.mode'))).toHaveLength(1);
  });

  it('says that it is not there', async () => {
    const missing = createNvidiaSmiProbe({ file: '/nowhere/nvidia-smi' }).sample([]);
    await expect(missing).rejects.toThrow(new ProbeAbsent('/nowhere/nvidia-smi was not found.'));
    await expect(missing).rejects.toBeInstanceOf(ProbeAbsent);
  });

  it('is given up after its limit', async () => {
    await expect(probe({ script: 'exec sleep 600' }, { limitMillis: 300 }).sample([])).rejects.toThrow(
      'did not answer within 0.3 s',
    );
  });

  it('is not started again while it runs: who asks meanwhile gets the same answer', async () => {
    const program = fakeNvidiaSmi({ gpus: TWO_GPUS, apps: APPS });
    const one = createNvidiaSmiProbe({ file: program.file, pidsAreOurs: true, pciDirectory: '/nowhere' });
    const [first, second] = await Promise.all([one.sample(TREES.slice(0, 1)), one.sample(TREES.slice(1))]);
    expect(program.calls()).toHaveLength(2);
    const figures = [first, second].map(({ devices }) => devices.map(({ usedBytes }) => usedBytes));
    expect(figures[0]).toEqual(figures[1]);
    expect([first, second].flatMap(({ instances }) => instances.map(({ model }) => model))).toEqual(['a', 'b']);
  });

  it('does not wake GPUs that sleep', async () => {
    const program = fakeNvidiaSmi({ gpus: TWO_GPUS, apps: '' });
    const pciDirectory = mkdtempSync(join(tmpdir(), 'pci-'));
    const power = (address: string, status: string): void => {
      mkdirSync(join(pciDirectory, address, 'power'), { recursive: true });
      writeFileSync(join(pciDirectory, address, 'power', 'runtime_status'), `${status}\n`);
    };
    const one = createNvidiaSmiProbe({ file: program.file, pidsAreOurs: true, pciDirectory });
    await one.sample([]);
    power('0000:01:00.0', 'suspended');
    power('0000:41:00.0', 'suspended');
    const { devices } = await one.sample([]);
    expect(devices.map(({ totalBytes, usedBytes }) => [totalBytes, usedBytes])).toEqual([
      [24576 * MIB, 0],
      [12288 * MIB, 0],
    ]);
    expect(program.calls()).toHaveLength(2);
    power('0000:41:00.0', 'active');
    await one.sample([]);
    expect(program.calls()).toHaveLength(4);
  });
});
