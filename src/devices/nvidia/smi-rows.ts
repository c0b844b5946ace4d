import { MIB, type Bytes } from '../../scheduler/units.js';
import type { DeviceProcess } from '../attribute.js';
import type { DeviceActivity } from '../probe.js';
import type { NvidiaGpu } from './gpu.js';

/** Fields that `readGpuRow` reads, in its order; the first six and how busy it is are old, MIG came in 2020. */
export const GPU_FIELDS =
  'uuid,pci.bus_id,name,memory.total,memory.used,memory.free,mig.mode.current,utilization.gpu,temperature.gpu,power.draw';
/** The same without the fields that old drivers refuse. */
export const OLD_GPU_FIELDS = 'uuid,pci.bus_id,name,memory.total,memory.used,memory.free';
export const PROCESS_FIELDS = 'gpu_uuid,pid,used_memory';

type Row = readonly string[];

/**
 * Reads the rows of both queries. What is used is total − free: newer drivers count what they keep for themselves in
 * neither `used` nor `free`, and nobody can have it.
 */
export function readGpuRows(gpus: readonly Row[], processes: readonly Row[]): readonly NvidiaGpu[] {
  return gpus.map((row) => {
    const gpu = readGpuRow(row);
    return { ...gpu, processes: processes.flatMap((process) => readProcessRow(process, gpu.uuid)) };
  });
}

/** A GPU whose figures are missing says so: of unknown size, it must look neither empty nor full. */
function readGpuRow(row: Row): NvidiaGpu {
  const [uuid = '', busId = '', name = '', totalField = '', usedField = '', freeField = '', mig = '', ...busy] = row;
  const [total, used, free] = [readMib(totalField), readMib(usedField), readMib(freeField)];
  const gpu = {
    uuid,
    busId,
    description: name,
    processes: [],
    slices: null,
    instance: null,
    sharesSystemMemory: false,
    activity: readActivity(busy),
  };
  // Its slices cannot be told apart by nvidia-smi's figures.
  if (mig === 'Enabled') return { ...gpu, memory: null, slices: [], problem: null };
  if (total === null || total === 0) {
    return { ...gpu, memory: null, problem: `it does not report its memory: nvidia-smi says "${totalField}"` };
  }
  const usedBytes = free === null ? used : total - free;
  if (usedBytes === null) {
    return { ...gpu, memory: null, problem: `it does not report its used memory: nvidia-smi says "${usedField}"` };
  }
  return { ...gpu, memory: { totalBytes: total, usedBytes }, problem: null };
}

/** Percent, degrees and watts. */
function readActivity([utilization = '', temperature = '', power = '']: Row): DeviceActivity | null {
  const [percent, celsius, watts] = [readNumber(utilization), readNumber(temperature), readNumber(power)];
  if (percent === null && celsius === null && watts === null) return null;
  const powerMilliwatts = watts === null ? null : Math.round(watts * 1000);
  return { utilizationPercent: percent, temperatureCelsius: celsius, powerMilliwatts };
}

/** Nothing for a row that names no process, or one on another GPU. */
function readProcessRow([uuid = '', pid = '', memory = '']: Row, gpu: string): readonly DeviceProcess[] {
  return uuid === gpu && /^\d+$/.test(pid) ? [{ pid: Number(pid), bytes: readMib(memory) }] : [];
}

/** `[N/A]`, `[Not Supported]`, `[Unknown Error]` and the like are null: unknown, not zero. */
function readMib(field: string): Bytes | null {
  const mib = readNumber(field);
  return mib === null ? null : Math.round(mib * MIB);
}

function readNumber(field: string): number | null {
  const number = /^\d+(\.\d+)?$/.test(field) ? Number(field) : NaN;
  return Number.isFinite(number) ? number : null;
}
