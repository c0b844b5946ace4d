import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bytes } from '../scheduler/units.js';

/**
 * Memory in use by this process's control group that cannot simply be dropped: its charge without the page
 * cache. Null when there is no such group or it cannot be read. Knows cgroup v2 and v1.
 * Source: the kernel's admin guide, cgroup-v2.rst and cgroup-v1/memory.rst.
 */
export async function readCgroupUsed(root = '/sys/fs/cgroup', self = '/proc/self/cgroup'): Promise<Bytes | null> {
  let groups: string;
  try {
    groups = await readFile(self, 'utf8');
  } catch {
    return null;
  }
  const v1 = /^\d+:(?:[^:\n]*,)?memory(?:,[^:\n]*)?:(.*)$/m.exec(groups)?.[1];
  const v2 = /^0::(.*)$/m.exec(groups)?.[1];
  // Inside a container the path is the host's, and the group is mounted at the root.
  const places = v1 === undefined ? [join(root, v2 ?? ''), root] : [join(root, 'memory', v1), join(root, 'memory')];
  for (const place of places) {
    const used =
      v1 === undefined
        ? await readUsed(place, 'memory.current', '')
        : await readUsed(place, 'memory.usage_in_bytes', 'total_');
    if (used !== null) return used;
  }
  return null;
}

async function readUsed(directory: string, file: string, prefix: string): Promise<Bytes | null> {
  try {
    const [charge, stat] = await Promise.all([
      readFile(join(directory, file), 'utf8'),
      readFile(join(directory, 'memory.stat'), 'utf8'),
    ]);
    const cache = ['active_file', 'inactive_file'].map(
      (name) => new RegExp(`^${prefix}${name} (\\d+)$`, 'm').exec(stat)?.[1],
    );
    const used = Number(charge) - cache.reduce((sum, bytes) => sum + Number(bytes ?? 0), 0);
    return Number.isFinite(used) ? Math.max(0, used) : null;
  } catch {
    return null;
  }
}
