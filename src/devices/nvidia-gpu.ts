import { MIB, type Bytes } from '../scheduler/units.js';

/** One GPU, as nvidia-smi describes it. */
export interface NvidiaGpu {
  readonly uuid: string;
  /** PCI bus id, e.g. `00000000:01:00.0`. */
  readonly busId: string;
  readonly description: string;
  readonly totalBytes: Bytes;
  readonly usedBytes: Bytes;
}

/** Memory of one process on one GPU; null bytes where the driver does not tell. */
export interface GpuProcess {
  readonly uuid: string;
  readonly pid: number;
  readonly bytes: Bytes | null;
}

/** Fields that `readGpu` reads, in its order; the last is the youngest (MIG came in 2020). */
export const GPU_FIELDS = 'uuid,pci.bus_id,name,memory.total,memory.used,memory.free,mig.mode.current';
/** The same without the fields that old drivers refuse. */
export const OLD_GPU_FIELDS = 'uuid,pci.bus_id,name,memory.total,memory.used,memory.free';
export const PROCESS_FIELDS = 'gpu_uuid,pid,used_memory';

/**
 * Reads one row of the GPU query. What is used is total − free: newer drivers count what they keep for
 * themselves in neither `used` nor `free`, and nobody can have it. Throws an Error that says which figure
 * is missing, since a GPU of unknown size must look neither empty nor full.
 */
export function readGpu(row: readonly string[]): NvidiaGpu {
  const [uuid = '', busId = '', name = '', totalField = '', usedField = '', freeField = '', mig = ''] = row;
  const [total, used, free] = [readMib(totalField), readMib(usedField), readMib(freeField)];
  if (mig === 'Enabled') {
    throw new Error(`${name} (${busId}) is in MIG mode; its slices cannot be told apart by nvidia-smi's figures.`);
  }
  if (total === null || total === 0) {
    throw new Error(`${name} (${busId}) does not report its memory: nvidia-smi says "${totalField}".`);
  }
  const usedBytes = free === null ? used : total - free;
  if (usedBytes === null) {
    throw new Error(`${name} (${busId}) does not report its used memory: nvidia-smi says "${usedField}".`);
  }
  return { uuid, busId, description: name, totalBytes: total, usedBytes: Math.min(total, Math.max(0, usedBytes)) };
}

/** Reads one row of the process query; null for a row that names no process. */
export function readGpuProcess(row: readonly string[]): GpuProcess | null {
  const [uuid = '', pid = '', memory = ''] = row;
  return /^\d+$/.test(pid) ? { uuid, pid: Number(pid), bytes: readMib(memory) } : null;
}

/**
 * The GPUs that a CUDA program sees, in its order when `CUDA_DEVICE_ORDER=PCI_BUS_ID`: by bus id, or as
 * `CUDA_VISIBLE_DEVICES` has it: indices or UUID prefixes; what follows an unknown one is not seen.
 * Source: CUDA C++ Programming Guide, "CUDA Environment Variables".
 */
export function visibleGpus(gpus: readonly NvidiaGpu[], visibleDevices: string | undefined): readonly NvidiaGpu[] {
  const byBus = gpus.toSorted((a, b) => (a.busId < b.busId ? -1 : 1));
  if (visibleDevices === undefined) return byBus;
  const seen: NvidiaGpu[] = [];
  for (const token of visibleDevices.split(',').map((text) => text.trim())) {
    const matches = /^\d+$/.test(token) ? byBus.slice(Number(token), Number(token) + 1) : byUuid(byBus, token);
    const [gpu] = matches;
    if (gpu === undefined || matches.length > 1 || seen.includes(gpu)) break;
    seen.push(gpu);
  }
  return seen;
}

function byUuid(gpus: readonly NvidiaGpu[], prefix: string): readonly NvidiaGpu[] {
  return prefix.startsWith('GPU-') ? gpus.filter(({ uuid }) => uuid.startsWith(prefix)) : [];
}

/** `[N/A]`, `[Not Supported]`, `[Unknown Error]` and the like are null: unknown, not zero. */
function readMib(field: string): Bytes | null {
  const mib = /^\d+(\.\d+)?$/.test(field) ? Number(field) : NaN;
  return Number.isFinite(mib) ? Math.round(mib * MIB) : null;
}
