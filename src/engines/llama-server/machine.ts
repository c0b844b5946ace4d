import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** Variables that decide which devices a program sees, or which library shows them to it. */
const TELLING = /^(?:CUDA_|GGML_|GPU_|HIP_|HSA_|NVIDIA_|ROCR_|VK_|ZE_|ONEAPI_|LD_|DYLD_)/;

/**
 * Stands for the machine as it is since its start: which devices the kernel shows, under which driver, and what the
 * environment makes of them. Null where a machine cannot be told from itself after a restart (no Linux).
 */
export function machineStamp(environment: Readonly<Record<string, string | undefined>>): string | null {
  const boot = textOf('/proc/sys/kernel/random/boot_id');
  if (boot === null) return null;
  const devices = [...namesIn('/dev').filter((name) => /^(?:nvidia\d+|kfd)$/.test(name)), ...namesIn('/dev/dri')];
  const variables = Object.entries(environment).filter(([name, value]) => value !== undefined && TELLING.test(name));
  const told = [
    boot,
    textOf('/sys/module/nvidia/version'),
    devices.sort(),
    variables.sort(([a], [b]) => (a < b ? -1 : 1)),
  ];
  return createHash('sha256').update(JSON.stringify(told)).digest('hex').slice(0, 32);
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
