import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { adviceFor } from '../../../src/cli/doctor/driver-advice.js';
import { createNvidiaSmiProbe } from '../../../src/devices/nvidia/smi-probe.js';
import { deviceLines } from '../../support/device-lines.js';
import { fakeNvidiaSmi } from '../../support/fake-nvidia-smi.js';
import { recordedSmi } from '../../support/recorded-smi.js';

const TREES = [{ model: 'ours', generation: 1, pids: [4242, 4243] }];

/** What is read from it: a line for each device, with MiB; then what ours hold; then what could not be read. */
const READ: Readonly<Record<string, readonly string[]>> = {
  'two-gpus': [
    'CUDA0 NVIDIA GeForce RTX 3090 9376/24576, others 1500, 87 %, 66 C, 281930 mW',
    'CUDA1 NVIDIA GeForce RTX 3060 635/12288, others 40, 0 %, 41 C, 14200 mW',
    'ours: CUDA0 7000, CUDA1 0',
  ],
  'eight-gpus': [
    'CUDA0 NVIDIA H100 80GB HBM3 61575/81559, others none, 98 %, 28 C, 658110 mW',
    'CUDA1 NVIDIA H100 80GB HBM3 545/81559, others none, 0 %, 29 C, 70110 mW',
    'CUDA2 NVIDIA H100 80GB HBM3 545/81559, others none, 0 %, 30 C, 70110 mW',
    'CUDA3 NVIDIA H100 80GB HBM3 70666/81559, others 70110, 100 %, 31 C, 670110 mW',
    'CUDA4 NVIDIA H100 80GB HBM3 545/81559, others none, 0 %, 32 C, 70110 mW',
    'CUDA5 NVIDIA H100 80GB HBM3 545/81559, others none, 0 %, 33 C, 70110 mW',
    'CUDA6 NVIDIA H100 80GB HBM3 545/81559, others none, 0 %, 34 C, 70110 mW',
    'CUDA7 NVIDIA H100 80GB HBM3 1053/81559, others 500, 3 %, 35 C, 88110 mW',
    'ours: CUDA0 61020, CUDA1 0, CUDA2 0, CUDA3 0, CUDA4 0, CUDA5 0, CUDA6 0, CUDA7 0',
  ],
  'not-reported': [
    'CUDA0 unknown: nvidia-smi: NVIDIA GB10 (0000000F:01:00.0): it does not report its memory: nvidia-smi says "[N/A]"',
  ],
  'not-supported': [
    'CUDA0 unknown: nvidia-smi: NVIDIA Tegra (00000000:05:00.0): it does not report its memory: nvidia-smi says "[Not Supported]"',
  ],
  mig: [
    'CUDA1 NVIDIA A100-SXM4-40GB 1000/40960, others none, 0 %, 30 C, 43800 mW',
    'ours: CUDA1 1000',
    'CUDA0 unknown: nvidia-smi: NVIDIA A100-SXM4-40GB (00000000:17:00.0) is in MIG mode; name one of its slices (MIG-…) in CUDA_VISIBLE_DEVICES to have it counted.',
  ],
  wsl: [
    'CUDA0 NVIDIA GeForce RTX 4070 1786/12282, not attributed: the driver does not tell what each process holds, 12 %, 45 C, 22500 mW',
  ],
  'no-permission': [
    'CUDA0 NVIDIA GeForce RTX 3090 9376/24576, others none, 87 %, 66 C, 281930 mW',
    'CUDA1 NVIDIA GeForce RTX 3060 635/12288, not attributed: the driver does not tell what each process holds, 0 %, 41 C, 14200 mW',
    'ours: CUDA0 0',
  ],
  'old-driver': ['CUDA0 Tesla K80 0/11441, others none', 'ours: CUDA0 0'],
  'driver-mismatch': ['Failed to initialize NVML: Driver/library version mismatch NVML library version: 550.90'],
  'driver-not-loaded': [
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
  ],
  'no-gpu': ['No devices were found'],
  'lost-gpu': [
    'Unable to determine the device handle for GPU0000:01:00.0: GPU is lost.  Reboot the system to recover this GPU',
  ],
  silence: ['nvidia-smi failed with exit code 9 and said nothing.'],
};

async function readRecorded(name: string): Promise<readonly string[]> {
  const { file } = fakeNvidiaSmi(recordedSmi(name));
  const options = { file, pidsAreOurs: true, pciDirectory: '/nowhere', visibleDevices: undefined };
  try {
    return deviceLines(await createNvidiaSmiProbe(options).sample(TREES));
  } catch (error) {
    return [(error as Error).message.replace(file, 'nvidia-smi')];
  }
}

describe.runIf(process.platform !== 'win32')('what nvidia-smi was recorded to say', () => {
  it.each(Object.keys(READ))('is read as what it is: %s', async (name) => {
    expect(await readRecorded(name)).toEqual(READ[name]);
  });

  it('is read in all its recordings', () => {
    const recorded = readdirSync(resolve(import.meta.dirname, '../../fixtures/nvidia-smi'));
    expect(recorded.toSorted()).toEqual(Object.keys(READ).toSorted());
  });

  it.each([
    ['driver-mismatch', 'reboot'],
    ['driver-not-loaded', 'modprobe nvidia'],
    ['no-gpu', 'lspci'],
    ['lost-gpu', 'power'],
    ['mig', 'CUDA_VISIBLE_DEVICES'],
    ['silence', 'dmesg'],
  ])('comes with something to do where it is a failure: %s', (name, advice) => {
    expect(adviceFor(READ[name]?.at(-1) ?? '')).toContain(advice);
  });
});
