import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeviceReading, InstanceReading } from '../scheduler/events.js';
import type { Bytes, DeviceName, Millis } from '../scheduler/units.js';
import {
  GPU_FIELDS,
  OLD_GPU_FIELDS,
  PROCESS_FIELDS,
  readGpu,
  readGpuProcess,
  visibleGpus,
  type GpuProcess,
  type NvidiaGpu,
} from './nvidia-gpu.js';
import { runNvidiaSmi } from './nvidia-smi-run.js';
import type { DeviceProbe, ProbeSample, ProcessTree } from './probe.js';

export interface NvidiaSmiProbeOptions {
  /** The program; default `nvidia-smi`, looked up in PATH. */
  readonly file?: string;
  /** Default 5 s. */
  readonly limitMillis?: Millis;
  /** `CUDA_VISIBLE_DEVICES` as the children have it; default: as this process has it. */
  readonly visibleDevices?: string | undefined;
  /** Where the kernel says whether a PCI device sleeps; default `/sys/bus/pci/devices`. */
  readonly pciDirectory?: string;
  /** Whether the driver's pids are ours; by default found out from the system. */
  readonly pidsAreOurs?: boolean;
}

interface Reading {
  readonly gpus: readonly NvidiaGpu[];
  readonly processes: readonly GpuProcess[];
}

const DEFAULT_LIMIT_MILLIS: Millis = 5000;
/** The first PID namespace's inode number is fixed (PROC_PID_INIT_INO in the kernel's proc_ns.h). */
const FIRST_PID_NAMESPACE = 'pid:[4026531836]';

/**
 * NVIDIA GPUs by the command line tool of the driver, named `CUDA0`, `CUDA1`, … as ggml's children see them.
 * For machines where NVML cannot be loaded directly. Only one run is in flight: who asks meanwhile gets its
 * result. A GPU that sleeps (runtime power management) is not woken: nobody has it open, so nothing is used.
 */
export function createNvidiaSmiProbe(options: NvidiaSmiProbeOptions = {}): DeviceProbe {
  const { file = 'nvidia-smi', limitMillis = DEFAULT_LIMIT_MILLIS } = options;
  const pciDirectory = options.pciDirectory ?? '/sys/bus/pci/devices';
  const visibleDevices = 'visibleDevices' in options ? options.visibleDevices : process.env['CUDA_VISIBLE_DEVICES'];
  let fields = GPU_FIELDS;
  let known: readonly NvidiaGpu[] = [];
  let inFlight: Promise<Reading> | null = null;
  let stuck = false;
  let pidsAreOurs: Promise<boolean> | undefined;

  const run = (query: readonly string[]): Promise<readonly (readonly string[])[]> => {
    const { rows, settled } = runNvidiaSmi(file, query, limitMillis);
    stuck = true;
    void settled.then(() => (stuck = false));
    return rows;
  };
  const queryGpus = async (): Promise<readonly NvidiaGpu[]> => {
    try {
      return (await run([`--query-gpu=${fields}`])).map(readGpu);
    } catch (error) {
      if (fields === OLD_GPU_FIELDS || !/not a valid field/i.test(String(error))) throw error;
      fields = OLD_GPU_FIELDS;
      return queryGpus();
    }
  };
  const read = async (): Promise<Reading> => {
    if (stuck) throw new Error(`${file} still hangs in an earlier run; the driver does not answer.`);
    if (known.length > 0 && (await Promise.all(known.map((gpu) => sleeps(gpu, pciDirectory)))).every(Boolean)) {
      return { gpus: known.map((gpu) => ({ ...gpu, usedBytes: 0 })), processes: [] };
    }
    // One after the other: memory that appears in between is then nobody's for one sample, never counted twice.
    const processes = (await run([`--query-compute-apps=${PROCESS_FIELDS}`])).map(readGpuProcess);
    known = await queryGpus();
    return { gpus: known, processes: processes.filter((process) => process !== null) };
  };

  return {
    name: 'nvidia-smi',
    async sample(trees) {
      inFlight ??= read().finally(() => (inFlight = null));
      const reading = await inFlight;
      pidsAreOurs ??= options.pidsAreOurs === undefined ? driverPidsAreOurs() : Promise.resolve(options.pidsAreOurs);
      return attribute(reading, trees, await pidsAreOurs, visibleDevices);
    },
    close: () => undefined,
  };
}

function attribute(
  { gpus, processes }: Reading,
  trees: readonly ProcessTree[],
  pidsAreOurs: boolean,
  visibleDevices: string | undefined,
): ProbeSample {
  const ours = new Set(trees.flatMap(({ pids }) => pids));
  // One pid that we know proves that the driver speaks of the same processes.
  const trusted = pidsAreOurs || processes.some(({ pid }) => ours.has(pid));
  const devices: DeviceReading[] = [];
  const resident = trees.map((): Record<DeviceName, Bytes> => ({}));
  visibleGpus(gpus, visibleDevices).forEach((gpu, index) => {
    const name = `CUDA${index}`;
    const here = processes.filter(({ uuid }) => uuid === gpu.uuid);
    const attributed = trusted && here.every(({ bytes }) => bytes !== null);
    const { description, totalBytes } = gpu;
    const sum = here.reduce((bytes, process) => bytes + (process.bytes ?? 0), 0);
    // The processes were read first: what appeared since is in the total only, what left in the sum only.
    const usedBytes = attributed ? Math.min(totalBytes, Math.max(gpu.usedBytes, sum)) : gpu.usedBytes;
    devices.push({ name, kind: 'discrete', description, totalBytes, usedBytes, attributed });
    if (!attributed) return;
    trees.forEach(({ pids }, tree) => {
      const held = resident[tree];
      if (held === undefined) return;
      const mine = here.filter(({ pid }) => pids.includes(pid));
      held[name] = mine.reduce((bytes, process) => bytes + (process.bytes ?? 0), 0);
    });
  });
  const instances = trees.flatMap(({ model, generation }, index): InstanceReading[] => {
    const held = resident[index] ?? {};
    return Object.keys(held).length === 0 ? [] : [{ model, generation, resident: held }];
  });
  return { devices, instances };
}

/**
 * In a container the driver lists no processes, or those of the machine by other numbers; under WSL it lists
 * none. Then a missing process must not be read as one that holds nothing.
 */
async function driverPidsAreOurs(): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  try {
    const [namespace, version] = await Promise.all([readlink('/proc/self/ns/pid'), readFile('/proc/version', 'utf8')]);
    return namespace === FIRST_PID_NAMESPACE && !/microsoft/i.test(version);
  } catch {
    return false;
  }
}

async function sleeps({ busId }: NvidiaGpu, pciDirectory: string): Promise<boolean> {
  // nvidia-smi writes the PCI domain with eight digits, the kernel with four.
  const address = busId.toLowerCase().replace(/^0000(?=[0-9a-f]{4}:)/, '');
  try {
    const status = await readFile(join(pciDirectory, address, 'power', 'runtime_status'), 'utf8');
    return status.trim() === 'suspended';
  } catch {
    return false;
  }
}
