import { createProbes } from '../../devices/combined-probe.js';
import type { DeviceName } from '../../scheduler/units.js';
import type { Finding } from './finding.js';

/**
 * What `CUDA_VISIBLE_DEVICES` hides, by a second look at NVIDIA's GPUs without it: children do not see these, so to us they
 * are not there, and a machine seems to have none whose GPUs are well. Null where it hides nothing, or nobody can tell.
 * @param seen all devices that there are with it, also those that could not be read
 */
export async function lookAtHiddenGpus(
  seen: readonly DeviceName[],
  visibleDevices: string | undefined = process.env['CUDA_VISIBLE_DEVICES'],
): Promise<Finding | null> {
  if (visibleDevices === undefined) return null;
  const all = { visibleDevices: undefined };
  const probes = createProbes({ nvml: all, nvidiaSmi: all, expectedGpus: all });
  try {
    const { devices } = (await probes.sample([])).sample;
    const gpus = devices.filter(({ kind }) => kind !== 'host');
    const left = seen.filter((name) => /^CUDA\d+$/u.test(name)).length;
    if (gpus.length <= left) return null;
    const names = gpus.map(({ description }) => description).join(', ');
    const variable = `CUDA_VISIBLE_DEVICES=${JSON.stringify(visibleDevices)} hides`;
    const finding = { area: 'devices', name: 'GPU' } as const;
    if (seen.length > 0) {
      const text = `${variable} ${gpus.length - left} of ${gpus.length} NVIDIA GPUs (${names})`;
      return { ...finding, level: 'ok', text, fix: null };
    }
    const text = `${variable} every NVIDIA GPU of this machine (${names}); models run on the processor`;
    return { ...finding, level: 'warn', text, fix: 'unset it, or name in it the GPUs that models may use' };
  } finally {
    probes.close();
  }
}
