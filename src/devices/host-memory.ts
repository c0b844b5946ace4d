import { readFile } from 'node:fs/promises';
import type { Bytes } from '../scheduler/units.js';
import { readCgroupUsed } from './cgroup-memory.js';

/** What the system says about its memory. */
export interface HostMemory {
  readonly totalBytes: Bytes;
  /** What could be had without swapping, page cache included. */
  readonly availableBytes: Bytes;
  /** Limit of the control group, or null. */
  readonly limitBytes: Bytes | null;
  /** What the control group uses besides page cache; of no matter without a limit. */
  readonly cgroupUsedBytes: Bytes;
}

/** Reads both; throws when the system does not say how much it has. */
export async function readHostMemory(): Promise<HostMemory> {
  // Zero or beyond any machine: no limit, or a system that has none (documented for process.constrainedMemory).
  const constraint = process.constrainedMemory();
  const limitBytes = constraint > 0 && Number.isSafeInteger(constraint) ? constraint : null;
  const [{ total, available }, groupUsed] = await Promise.all([
    process.platform === 'linux' ? readMeminfo() : askSystem(),
    limitBytes === null ? null : readCgroupUsed(),
  ]);
  if (!(total > 0) || !(available >= 0)) throw new Error('The system does not say how much memory it has.');
  // Node knows the group's use too, page cache included: too much rather than too little.
  const cgroupUsedBytes = limitBytes === null ? 0 : (groupUsed ?? Math.max(0, limitBytes - process.availableMemory()));
  return { totalBytes: total, availableBytes: available, limitBytes, cgroupUsedBytes };
}

interface SystemMemory {
  readonly total: Bytes;
  readonly available: Bytes;
}

/** proc(5), meminfo; NaN for what is not there. */
async function readMeminfo(): Promise<SystemMemory> {
  const text = await readFile('/proc/meminfo', 'utf8');
  const bytes = (name: string): Bytes =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? NaN) * 1024;
  return { total: bytes('MemTotal'), available: bytes('MemAvailable') };
}

/** Loaded only where it is needed: it would be 17 MB of every supervisor. */
async function askSystem(): Promise<SystemMemory> {
  const { default: systeminformation } = await import('systeminformation');
  return systeminformation.mem();
}
