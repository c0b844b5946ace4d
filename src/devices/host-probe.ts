import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { DeviceReading, InstanceReading } from '../scheduler/events.js';
import type { Bytes } from '../scheduler/units.js';
import { readHostMemory, type HostMemory } from './host-memory.js';
import type { DeviceProbe } from './probe.js';

/** Memory of one process, by what backs it. */
export interface HostResident {
  /** Anonymous and shared memory: gone only when the process lets go of it. */
  readonly privateBytes: Bytes;
  /** Mapped files, such as weights: the kernel may drop these pages and read them again. */
  readonly fileBytes: Bytes;
}

/**
 * System memory as the device `Host`. The total is the smaller of what the machine has and what the control
 * group allows. On Linux each instance's share is told by what its processes have resident.
 */
export function createHostProbe(): DeviceProbe {
  return {
    name: 'host',
    capabilities: { total: true, used: true, perProcess: process.platform === 'linux', names: true },
    async sample(trees) {
      const linux = process.platform === 'linux';
      const memory = await readHostMemory();
      const residents = linux ? trees.map(({ pids }) => readTreeResident(pids)) : [];
      const fileBytes = residents.reduce((sum, resident) => sum + resident.fileBytes, 0);
      const instances = residents.flatMap((resident, index): InstanceReading[] => {
        const tree = trees[index];
        if (tree === undefined) return [];
        const { model, generation } = tree;
        return [{ model, generation, resident: { Host: resident.privateBytes + resident.fileBytes } }];
      });
      return { devices: [readHostDevice(memory, fileBytes, linux)], instances };
    },
    close: () => undefined,
  };
}

/**
 * How much of the host counts as used, such that `external = used − Σ resident(ours)` is what others hold:
 * "available" memory includes page cache, and mapped weights are page cache, so the mapped part of our own
 * instances is put back: `used = (total − available) + Σ mapped files (ours)`, at most the total. Without it
 * every instance with mapped weights would make the rest of the machine look emptier than it is.
 */
export function readHostDevice(memory: HostMemory, ourFileBytes: Bytes, attributed: boolean): DeviceReading {
  const { totalBytes, availableBytes, limitBytes, cgroupUsedBytes } = memory;
  const limited = limitBytes !== null && limitBytes < totalBytes;
  const total = limited ? limitBytes : totalBytes;
  const unavailable = Math.max(0, totalBytes - availableBytes);
  // A group that may use less than the machine has can be held back by either.
  const held = limited ? Math.max(cgroupUsedBytes, total - Math.min(total, availableBytes)) : unavailable;
  return {
    name: 'Host',
    kind: 'host',
    description: `System memory, ${cpus().length} CPU threads${limited ? ', limited by its control group' : ''}`,
    totalBytes: total,
    usedBytes: Math.min(total, held + ourFileBytes),
    attributed,
    source: 'host',
    ...(attributed ? {} : { remark: 'this system does not tell what each process has resident' }),
  };
}

/** What a process tree has resident; processes that have gone hold nothing. */
function readTreeResident(pids: readonly number[]): HostResident {
  const residents = pids.map(readResident);
  return {
    privateBytes: residents.reduce((sum, { privateBytes }) => sum + privateBytes, 0),
    fileBytes: residents.reduce((sum, { fileBytes }) => sum + fileBytes, 0),
  };
}

/** proc(5), status: cheap to read, unlike smaps, which walks the page tables and holds the process's memory lock. */
function readResident(pid: number): HostResident {
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return { privateBytes: 0, fileBytes: 0 };
  }
  const bytes = (name: string): Bytes =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return { privateBytes: bytes('RssAnon') + bytes('RssShmem'), fileBytes: bytes('RssFile') };
}
