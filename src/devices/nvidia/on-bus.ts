import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';

/** An NVIDIA GPU as the bus has it, whether or not anybody drives it. */
export interface GpuOnBus {
  /** PCI address, e.g. `0000:01:00.0`. */
  readonly address: string;
  /** The kernel driver that it is bound to; null: none. */
  readonly driver: string | null;
}

const NVIDIA_VENDOR = '0x10de';
/** PCI base class of display controllers, 3D controllers among them. */
const DISPLAY_CLASS = '0x03';

/** NVIDIA's display controllers, by address; none where the system does not show its bus. Reading this wakes none. */
export function nvidiaOnBus(pciDirectory = '/sys/bus/pci/devices'): readonly GpuOnBus[] {
  const addresses = attempt(() => readdirSync(pciDirectory)) ?? [];
  const read = (address: string, file: string): string =>
    attempt(() => readFileSync(join(pciDirectory, address, file), 'utf8').trim()) ?? '';
  return addresses
    .filter((address) => read(address, 'vendor') === NVIDIA_VENDOR && read(address, 'class').startsWith(DISPLAY_CLASS))
    .sort()
    .map((address) => {
      const link = attempt(() => readlinkSync(join(pciDirectory, address, 'driver')));
      return { address, driver: link === null ? null : basename(link) };
    });
}

function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
