import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bytes } from '../../scheduler/units.js';
import { readNumber, type DrmCard } from './cards.js';
import type { DrmClient } from './fdinfo.js';

/** Memory of an Intel GPU of its own. */
export interface IntelMemory {
  readonly totalBytes: Bytes;
  /** Null: the driver does not say; what processes hold is all that is known to be in use. */
  readonly usedBytes: Bytes | null;
}

/** Local memory as the drivers call it: `local0` is i915's, `vram0` xe's, one for each tile. */
const LOCAL_REGION = /^(?:local|vram)\d+$/u;

/**
 * What sysfs says of a card's memory; null where it says nothing, as of a processor's graphics, and of many cards: i915
 * has these files in Intel's own builds of it, xe in some versions. Only to be asked of a card that is awake.
 * Source: i915's `lmem_total_bytes` and `lmem_avail_bytes` of the DRM minor, xe's `physical_vram_size_bytes` of each tile.
 */
export async function readIntelMemory({ node, directory }: DrmCard): Promise<IntelMemory | null> {
  const total = await readNumber(join(node, 'lmem_total_bytes'));
  if (total !== null && total > 0) {
    const available = await readNumber(join(node, 'lmem_avail_bytes'));
    return { totalBytes: total, usedBytes: available === null ? null : Math.max(0, total - available) };
  }
  const tiles = (await readdir(directory).catch(() => [])).filter((name) => /^tile\d+$/u.test(name));
  const sizes = await Promise.all(tiles.map((tile) => readTile(join(directory, tile))));
  const sum = sizes.reduce<number>((all, size) => all + (size ?? 0), 0);
  // A tile of unknown size makes the whole unknown.
  return sum === 0 || sizes.includes(null) ? null : { totalBytes: sum, usedBytes: null };
}

/** What a process holds of the card's own memory. */
export function intelBytesOf({ regions }: DrmClient): Bytes {
  return [...regions].reduce((sum, [region, bytes]) => (LOCAL_REGION.test(region) ? sum + bytes : sum), 0);
}

async function readTile(directory: string): Promise<Bytes | null> {
  const name = 'physical_vram_size_bytes';
  return (await readNumber(join(directory, name))) ?? (await readNumber(join(directory, 'memory', name)));
}
