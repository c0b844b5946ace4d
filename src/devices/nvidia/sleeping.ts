import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** True when there are such GPUs and the kernel says that every one of them sleeps; asking does not wake them. */
export async function sleepingGpus(
  gpus: readonly { readonly busId: string }[],
  pciDirectory = '/sys/bus/pci/devices',
): Promise<boolean> {
  if (gpus.length === 0) return false;
  return (await Promise.all(gpus.map(({ busId }) => sleeps(busId, pciDirectory)))).every(Boolean);
}

async function sleeps(busId: string, pciDirectory: string): Promise<boolean> {
  // The driver writes the PCI domain with eight digits, the kernel with four.
  const address = busId.toLowerCase().replace(/^0000(?=[0-9a-f]{4}:)/, '');
  try {
    const status = await readFile(join(pciDirectory, address, 'power', 'runtime_status'), 'utf8');
    return status.trim() === 'suspended';
  } catch {
    return false;
  }
}
