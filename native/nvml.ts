import type { NvmlArgument, NvmlLibrary } from './nvml-library.js';
import {
  CODE,
  MEMORY_V1_BYTES,
  MEMORY_V2_BYTES,
  MEMORY_V2_VERSION,
  PCI_INFO_BYTES,
  readBusId,
  readMemoryV1,
  readMemoryV2,
  readProcesses,
  readText,
  ROOMY_PROCESS_BYTES,
  UNTOUCHED,
  type NvmlMemory,
  type NvmlProcess,
} from './nvml-layouts.js';

/** One GPU, or one MIG slice of one, as NVML describes it; what it does not tell is null. */
export interface NvmlGpu {
  readonly uuid: string;
  /** PCI bus id, e.g. `00000000:01:00.0`; a slice has its GPU's. */
  readonly busId: string;
  readonly name: string;
  readonly memory: NvmlMemory | null;
  /** Processes with a compute or graphics context; null: the driver does not say. */
  readonly processes: readonly NvmlProcess[] | null;
  /** Slices, when it is in MIG mode. */
  readonly slices: readonly NvmlGpu[] | null;
  /** Which slice of its GPU it is; null for a GPU, and where the driver does not say. */
  readonly instance: MigInstance | null;
  /** What the driver said instead of its memory. */
  readonly error: string | null;
  /** True when the driver says that it has no such thing as memory of its own (Jetson, GB10). */
  readonly sharesSystemMemory: boolean;
}

/** A slice by the numbers of its GPU instance and, within that, of its compute instance. */
export interface MigInstance {
  readonly gpu: number;
  readonly compute: number;
}

/** What else NVML knows of a GPU; null where it does not. */
export interface NvmlActivity {
  /** 0..100 */
  readonly utilizationPercent: number | null;
  readonly temperatureCelsius: number | null;
  readonly powerMilliwatts: number | null;
}

export interface Nvml {
  readonly driverVersion: string | null;
  /** All GPUs of the machine, in the order of NVML's indices. Throws NvmlError when there is no telling even how many. */
  read(): readonly NvmlGpu[];
  /** How busy the GPU with this index is. */
  activity(index: number): NvmlActivity;
  close(): void;
}

/** NVML's refusal in the driver's own words, e.g. `Driver/library version mismatch`. */
export class NvmlError extends Error {
  readonly code: number;

  constructor(library: NvmlLibrary, call: string, code: number) {
    super(`${library.errorString(code)} (${call}, code ${code})`);
    this.name = 'NvmlError';
    this.code = code;
  }
}

const TEXT_BYTES = 96;
/** More may have started since they were counted. */
const SPARE_PROCESSES = 16;
const GPU_TEMPERATURE = 0;
/** Newest first; a driver has those of its time and before. */
const PROCESS_CALLS = [
  { version: '_v3', bytesEach: 24 },
  { version: '_v2', bytesEach: 24 },
  { version: '', bytesEach: 16 },
] as const;

type Handle = bigint;

/** What does not change while a GPU is there. */
interface Identity {
  readonly handle: Handle;
  readonly uuid: string;
  readonly busId: string;
  readonly name: string;
}

/**
 * Initialises NVML and reads from it. Throws NvmlError when the driver refuses. Every call blocks as long as the driver
 * likes, for ever if it hangs: to be used in a process of its own.
 * Source of calls, structures and versions: NVIDIA's NVML API Reference Guide (nvml.h).
 */
export function openNvml(library: NvmlLibrary): Nvml {
  const demand = (name: string, ...args: NvmlArgument[]): void => {
    const code = library.call(name, args);
    if (code !== CODE.success) throw new NvmlError(library, name, code);
  };
  const accepts = (name: string, ...args: NvmlArgument[]): boolean => library.call(name, args) === CODE.success;
  const number = (name: string, ...args: NvmlArgument[]): number | null => {
    const out = Buffer.alloc(8);
    return accepts(name, ...args, out) ? out.readUInt32LE() : null;
  };
  const text = (name: string, handle: Handle): string => {
    const out = Buffer.alloc(TEXT_BYTES);
    demand(name, handle, out, TEXT_BYTES);
    return readText(out);
  };
  const busId = (handle: Handle): string => {
    const out = Buffer.alloc(PCI_INFO_BYTES);
    demand('nvmlDeviceGetPciInfo_v3', handle, out);
    return readBusId(out);
  };
  const identify = (handle: Handle, parent?: Identity): Identity => ({
    handle,
    uuid: text('nvmlDeviceGetUUID', handle),
    busId: parent?.busId ?? busId(handle),
    name: text('nvmlDeviceGetName', handle),
  });
  const byIndex = (index: number): Handle => {
    const out = Buffer.alloc(8);
    demand('nvmlDeviceGetHandleByIndex_v2', index, out);
    return out.readBigUInt64LE();
  };
  const memory = (handle: Handle): NvmlMemory => {
    const v2 = Buffer.alloc(MEMORY_V2_BYTES);
    v2.writeUInt32LE(MEMORY_V2_VERSION);
    const code = library.call('nvmlDeviceGetMemoryInfo_v2', [handle, v2]);
    if (code === CODE.success) return readMemoryV2(v2);
    if (code !== CODE.functionNotFound && code !== CODE.argumentVersionMismatch && code !== CODE.notSupported) {
      throw new NvmlError(library, 'nvmlDeviceGetMemoryInfo_v2', code);
    }
    const v1 = Buffer.alloc(MEMORY_V1_BYTES);
    demand('nvmlDeviceGetMemoryInfo', handle, v1);
    return readMemoryV1(v1);
  };
  const processesBy = (call: string, bytesEach: 16 | 24, handle: Handle): readonly NvmlProcess[] | null | undefined => {
    const count = Buffer.alloc(4);
    let code: number = CODE.insufficientSize;
    for (let attempt = 0; code === CODE.insufficientSize && attempt < 3; attempt++) {
      const room = count.readUInt32LE() + SPARE_PROCESSES;
      const list = Buffer.alloc(room * ROOMY_PROCESS_BYTES, UNTOUCHED);
      count.writeUInt32LE(room);
      code = library.call(call, [handle, count, list]);
      if (code === CODE.success) return readProcesses(list, count.readUInt32LE(), bytesEach);
    }
    return code === CODE.functionNotFound ? undefined : null;
  };
  const processesOf = (kind: 'Compute' | 'Graphics', handle: Handle): readonly NvmlProcess[] | null => {
    for (const { version, bytesEach } of PROCESS_CALLS) {
      const found = processesBy(`nvmlDeviceGet${kind}RunningProcesses${version}`, bytesEach, handle);
      if (found !== undefined) return found;
    }
    return null;
  };
  const figures = (identity: Identity): NvmlGpu => {
    const { handle } = identity;
    // Before the total: memory that appears in between is then nobody's for one sample, never counted twice.
    const [compute, graphics] = [processesOf('Compute', handle), processesOf('Graphics', handle)];
    const processes = compute === null ? null : merge([...compute, ...(graphics ?? [])]);
    try {
      return { ...blank(identity), memory: memory(handle), processes };
    } catch (error) {
      const sharesSystemMemory = error instanceof NvmlError && error.code === CODE.notSupported;
      return { ...blank(identity), processes, error: wordsOf(error), sharesSystemMemory };
    }
  };
  const instanceOf = (slice: Handle): MigInstance | null => {
    const gpu = number('nvmlDeviceGetGpuInstanceId', slice);
    const compute = number('nvmlDeviceGetComputeInstanceId', slice);
    return gpu === null || compute === null ? null : { gpu, compute };
  };
  const slicesOf = (parent: Identity): readonly NvmlGpu[] | null => {
    const modes = Buffer.alloc(8);
    if (!accepts('nvmlDeviceGetMigMode', parent.handle, modes, modes.subarray(4))) return null;
    if (modes.readUInt32LE() !== 1) return null;
    const most = number('nvmlDeviceGetMaxMigDeviceCount', parent.handle) ?? 0;
    return Array.from({ length: most }, (_, index): NvmlGpu[] => {
      const out = Buffer.alloc(8);
      if (!accepts('nvmlDeviceGetMigDeviceHandleByIndex', parent.handle, index, out)) return [];
      const slice = out.readBigUInt64LE();
      return [{ ...figures(identify(slice, parent)), instance: instanceOf(slice) }];
    }).flat();
  };
  const known = new Map<number, Identity>();
  const readOne = (index: number): NvmlGpu => {
    try {
      // A lost GPU says so here already; one that is back may have another handle.
      const handle = byIndex(index);
      let identity = known.get(index);
      if (identity?.handle !== handle) identity = identify(handle);
      known.set(index, identity);
      const slices = slicesOf(identity);
      if (slices === null) return figures(identity);
      return { ...blank(identity), slices };
    } catch (error) {
      const identity = known.get(index) ?? { uuid: '', busId: '', name: `GPU ${index}` };
      return { ...blank(identity), error: wordsOf(error) };
    }
  };

  demand('nvmlInit_v2');
  const version = Buffer.alloc(TEXT_BYTES);
  return {
    driverVersion: accepts('nvmlSystemGetDriverVersion', version, TEXT_BYTES) ? readText(version) : null,
    read() {
      const count = Buffer.alloc(4);
      demand('nvmlDeviceGetCount_v2', count);
      return Array.from({ length: count.readUInt32LE() }, (_, index) => readOne(index));
    },
    activity(index) {
      const handle = byIndex(index);
      return {
        utilizationPercent: number('nvmlDeviceGetUtilizationRates', handle),
        temperatureCelsius: number('nvmlDeviceGetTemperature', handle, GPU_TEMPERATURE),
        powerMilliwatts: number('nvmlDeviceGetPowerUsage', handle),
      };
    },
    close: () => void library.call('nvmlShutdown', []),
  };
}

function blank({ uuid, busId, name }: Omit<Identity, 'handle'>): NvmlGpu {
  const unknown = { memory: null, processes: null, slices: null, instance: null, error: null } as const;
  return { uuid, busId, name, ...unknown, sharesSystemMemory: false };
}

/** A process that computes and draws is in both lists, with the same memory in each. */
function merge(processes: readonly NvmlProcess[]): readonly NvmlProcess[] {
  const byPid = new Map<number, NvmlProcess>();
  for (const process of processes) {
    const before = byPid.get(process.pid);
    const bytes = before?.bytes == null ? process.bytes : Math.max(before.bytes, process.bytes ?? 0);
    byPid.set(process.pid, { pid: process.pid, bytes });
  }
  return [...byPid.values()];
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
