import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GIB, MIB, type Bytes } from '../../scheduler/units.js';

/** What one open file of a process holds on a GPU; by region, e.g. `vram`, `gtt`, `vram0`, `local0`, `system0`. */
export interface DrmClient {
  readonly driver: string;
  /** PCI address, e.g. `0000:03:00.0`; empty where the driver gives none. */
  readonly pci: string;
  /** The same for all files that share one client: such are counted once. */
  readonly client: string;
  readonly regions: ReadonlyMap<string, Bytes>;
}

const UNITS: Readonly<Record<string, Bytes>> = { '': 1, KiB: 1024, MiB: MIB, GiB: GIB };
/** Resident is what is really there; drivers before 6.8 or so say `memory` only, or the total. */
const KEYS = ['resident', 'memory', 'total'];

/**
 * Reads a file of /proc/PID/fdinfo; null for one that is no GPU's.
 * Source: the kernel's "DRM client usage stats".
 */
export function parseFdinfo(text: string): DrmClient | null {
  const fields = new Map(
    text.split('\n').flatMap((line) => {
      const at = line.indexOf(':');
      return at === -1 ? [] : [[line.slice(0, at), line.slice(at + 1).trim()] as const];
    }),
  );
  const driver = fields.get('drm-driver');
  if (driver === undefined) return null;
  const regions = new Map<string, Bytes>();
  for (const key of KEYS) {
    for (const [name, value] of fields) {
      const region = name.startsWith(`drm-${key}-`) ? name.slice(`drm-${key}-`.length) : '';
      const bytes = readBytes(value);
      // xe counts the cycles of its engines under the same word.
      if (region !== '' && !region.startsWith('cycles-') && bytes !== null && !regions.has(region))
        regions.set(region, bytes);
    }
  }
  return { driver, pci: fields.get('drm-pdev') ?? '', client: fields.get('drm-client-id') ?? '', regions };
}

/** The GPU clients of a process, each once; none when it has gone or belongs to somebody else. */
export async function readClients(procDirectory: string, pid: number): Promise<readonly DrmClient[]> {
  const directory = join(procDirectory, String(pid), 'fdinfo');
  const names = await readdir(directory).catch(() => []);
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8').catch(() => '')));
  const clients = texts.map(parseFdinfo).filter((client) => client !== null);
  return [...new Map(clients.map((client) => [`${client.pci} ${client.client}`, client])).values()];
}

/** Null for what is no amount of memory, such as a time. */
function readBytes(value: string): Bytes | null {
  const [, number, unit = ''] = /^(\d+)(?: (KiB|MiB|GiB))?$/.exec(value) ?? [];
  return number === undefined ? null : Number(number) * (UNITS[unit] ?? 1);
}
