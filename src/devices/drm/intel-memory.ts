import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bytes } from '../../scheduler/units.js';
import { readNumber, type DrmCard } from './cards.js';
import type { DrmClient } from './fdinfo.js';

/** Local memory as the drivers call it: `local0` is i915's, `vram0` xe's, one for each tile. */
const LOCAL_REGION = /^(?:local|vram)\d+$/u;

/**
 * How much memory of its own a card has; null where sysfs does not say, as of a processor's graphics, and of many cards: i915
 * has these files in Intel's own builds of it, xe in some versions. Wakes none: the drivers tell what they noted when they
 * came up.
 * Source: i915's `lmem_total_bytes` of the DRM minor, xe's `physical_vram_size_bytes` of each tile.
 */
export async function readIntelTotal({ node, directory }: DrmCard): Promise<Bytes | null> {
  const total = await readNumber(join(node, 'lmem_total_bytes'));
  if (total !== null && total > 0) return total;
  const tiles = (await readdir(directory).catch(() => [])).filter((name) => /^tile\d+$/u.test(name));
  const sizes = await Promise.all(tiles.map((tile) => readTile(join(directory, tile))));
  const sum = sizes.reduce<number>((all, size) => all + (size ?? 0), 0);
  // A tile of unknown size makes the whole unknown.
  return sum === 0 || sizes.includes(null) ? null : sum;
}

/**
 * How much of it is in use; null: the driver does not say, and what processes hold is all that is known. Only to be asked of
 * a card that is awake. Source: i915's `lmem_avail_bytes` of the DRM minor.
 */
export async function readIntelUsed({ node }: DrmCard, totalBytes: Bytes): Promise<Bytes | null> {
  const available = await readNumber(join(node, 'lmem_avail_bytes'));
  return available === null ? null : Math.max(0, totalBytes - available);
}

/** What a process holds of the card's own memory. */
export function intelBytesOf({ regions }: DrmClient): Bytes {
  return [...regions].reduce((sum, [region, bytes]) => (LOCAL_REGION.test(region) ? sum + bytes : sum), 0);
}

async function readTile(directory: string): Promise<Bytes | null> {
  const name = 'physical_vram_size_bytes';
  return (await readNumber(join(directory, name))) ?? (await readNumber(join(directory, 'memory', name)));
}
