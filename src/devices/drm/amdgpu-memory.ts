import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bytes } from '../../scheduler/units.js';
import { readNumber, type DrmCard } from './cards.js';
import type { DrmClient } from './fdinfo.js';

/** Memory of an AMD GPU. */
export interface AmdMemory {
  readonly kind: 'discrete' | 'unified';
  readonly totalBytes: Bytes;
  readonly usedBytes: Bytes;
}

/**
 * What amdgpu says of a card's memory; null when it says nothing.
 *
 * A processor with graphics has a part of system memory to itself (its "VRAM") and may borrow of the rest (GTT). A model
 * can be in both, so both count: the total is what it has and may borrow, and free is what is left of its own and
 * what can really be borrowed, which is no more than the system has available. So that what other programs have of
 * system memory counts here exactly as far as it is in the way, and nothing is counted twice on this device.
 * Source: the kernel's "Misc AMDGPU driver information", mem_info_*.
 */
export async function readAmdMemory(card: DrmCard, availableBytes: () => Promise<Bytes>): Promise<AmdMemory | null> {
  const figure = figureOf(card);
  const [total, used] = [await figure('vram_total'), await figure('vram_used')];
  if (total === null || used === null || total === 0) return null;
  if (!(await isProcessorGraphics(card)))
    return { kind: 'discrete', totalBytes: total, usedBytes: Math.min(total, used) };
  const [borrowable, borrowed] = [(await figure('gtt_total')) ?? 0, (await figure('gtt_used')) ?? 0];
  const free = Math.max(0, total - used) + Math.min(Math.max(0, borrowable - borrowed), await availableBytes());
  return { kind: 'unified', totalBytes: total + borrowable, usedBytes: total + borrowable - free };
}

/**
 * The size of a card's own memory, which amdgpu has noted: asking wakes none. A processor's graphics, which have more, are
 * never put to sleep.
 */
export async function readAmdTotal(card: DrmCard): Promise<Bytes | null> {
  return (await figureOf(card)('vram_total')) || null;
}

function figureOf({ directory }: DrmCard): (name: string) => Promise<number | null> {
  return (name) => readNumber(join(directory, `mem_info_${name}`));
}

/** What a process holds of it: its own memory, and what it borrowed where that is the same thing. */
export function amdBytesOf({ regions }: DrmClient, kind: AmdMemory['kind']): Bytes {
  const vram = regions.get('vram') ?? 0;
  return kind === 'unified' ? vram + (regions.get('gtt') ?? 0) : vram;
}

/**
 * Told by the layout of its metrics: versions 2 and 3 are those of processors with graphics (the third byte of the file;
 * kgd_pp_interface.h). Only to be asked of a card that is awake.
 */
async function isProcessorGraphics({ directory }: DrmCard): Promise<boolean> {
  try {
    const revision = (await readFile(join(directory, 'gpu_metrics')))[2];
    return revision === 2 || revision === 3;
  } catch {
    return false;
  }
}
