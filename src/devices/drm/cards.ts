import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A GPU with a kernel driver that has a place in /sys/class/drm. */
export interface DrmCard {
  readonly driver: string;
  /** PCI address, e.g. `0000:03:00.0`. */
  readonly pci: string;
  /** Vendor and product, e.g. `1002:744C`. */
  readonly pciId: string;
  /** The directory of the PCI device. */
  readonly directory: string;
  /** The directory of the card itself. */
  readonly node: string;
}

/** All cards, by PCI address. Reading this wakes none of them. */
export async function readCards(sysDirectory: string): Promise<readonly DrmCard[]> {
  const root = join(sysDirectory, 'class', 'drm');
  const names = (await readdir(root).catch(() => [])).filter((name) => /^card\d+$/.test(name));
  const cards = await Promise.all(names.map((name) => readCard(join(root, name))));
  return cards.filter((card) => card !== null).toSorted((a, b) => (a.pci < b.pci ? -1 : 1));
}

/** True when the kernel has put the card to sleep. */
export async function isAsleep({ directory }: DrmCard): Promise<boolean> {
  return (await readText(join(directory, 'power', 'runtime_status')))?.trim() === 'suspended';
}

export async function readNumber(path: string): Promise<number | null> {
  const text = await readText(path);
  return text !== null && /^\d+$/.test(text.trim()) ? Number(text) : null;
}

export async function readText(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null);
}

async function readCard(node: string): Promise<DrmCard | null> {
  const directory = join(node, 'device');
  const event = (await readText(join(directory, 'uevent'))) ?? '';
  const field = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(event)?.[1] ?? '';
  const [driver, pci, pciId] = [field('DRIVER'), field('PCI_SLOT_NAME'), field('PCI_ID')];
  return driver === '' || pci === '' ? null : { driver, pci, pciId, directory, node };
}
