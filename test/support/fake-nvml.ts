import type { NvmlArgument, NvmlLibrary } from '../../native/nvml-library.js';
import { tempTree } from './temp-tree.js';

/** One GPU of a library that writes into buffers as NVML does. */
export interface FakeGpu {
  readonly uuid: string;
  readonly busId: string;
  readonly name: string;
  /** Bytes; a number is the return code of the calls instead. */
  readonly memory: { readonly total: number; readonly free: number; readonly reserved?: number } | number;
  /** A number is the return code of the calls instead. */
  readonly compute?: readonly FakeProcess[] | number;
  readonly graphics?: readonly FakeProcess[] | number;
  readonly slices?: readonly FakeGpu[];
  /** Of a slice: the numbers of its GPU instance and its compute instance. */
  readonly instance?: readonly [number, number];
  /** Return code of getting a handle. */
  readonly lost?: number;
}

export interface FakeProcess {
  readonly pid: number;
  /** Null: not available. */
  readonly bytes: number | null;
}

export interface FakeNvmlOptions {
  readonly gpus: readonly FakeGpu[];
  readonly initCode?: number;
  /** Functions that this driver does not have yet. */
  readonly missing?: readonly string[];
  /** Bytes per entry of versions 2 and 3 of the process lists. */
  readonly processBytes?: 24 | 32;
}

const WORDS: Readonly<Record<number, string>> = {
  3: 'Not Supported',
  4: 'Insufficient Permissions',
  15: 'GPU is lost',
  18: 'Driver/library version mismatch',
};

/** A driver's library in JavaScript: it writes what the C structures of NVML have where they have it. */
export function fakeNvml(options: FakeNvmlOptions): NvmlLibrary {
  const all = options.gpus.flatMap((gpu) => [gpu, ...(gpu.slices ?? [])]);
  const handleOf = (gpu: FakeGpu): bigint => 0x7000n + BigInt(all.indexOf(gpu));
  const gpuOf = (handle: NvmlArgument | undefined): FakeGpu => {
    const gpu = typeof handle === 'bigint' ? all[Number(handle - 0x7000n)] : undefined;
    if (gpu === undefined) throw new Error(`the library was given the handle ${String(handle)}`);
    return gpu;
  };
  const text = (out: NvmlArgument | undefined, value: string): number => {
    (out as Buffer).write(`${value}\0`);
    return 0;
  };
  const list = (gpu: FakeGpu, name: string, count: Buffer, into: Buffer): number => {
    const processes = (name.includes('Compute') ? gpu.compute : gpu.graphics) ?? [];
    if (typeof processes === 'number') return processes;
    const room = count.readUInt32LE();
    count.writeUInt32LE(processes.length);
    if (room < processes.length) return 7;
    const isNew = name.endsWith('_v2') || name.endsWith('_v3');
    const stride = isNew ? (options.processBytes ?? 24) : 16;
    processes.forEach(({ pid, bytes }, index) => {
      const entry = into.subarray(index * stride, (index + 1) * stride).fill(0);
      entry.writeUInt32LE(pid);
      entry.writeBigUInt64LE(bytes === null ? 2n ** 64n - 1n : BigInt(bytes), 8);
      if (isNew) entry.writeUInt32LE(0xffffffff, 16);
    });
    return 0;
  };
  const memory = (gpu: FakeGpu, out: Buffer, isV2: boolean): number => {
    if (typeof gpu.memory === 'number') return gpu.memory;
    const { total, free, reserved = 0 } = gpu.memory;
    if (isV2 && out.readUInt32LE() !== (40 | (2 << 24))) return 25;
    const used = isV2 ? total - free - reserved : total - free;
    const figures = isV2 ? [total, reserved, free, used] : [total, free, used];
    figures.forEach((bytes, index) => out.writeBigUInt64LE(BigInt(bytes), (isV2 ? 8 : 0) + index * 8));
    return 0;
  };
  const instance = (gpu: FakeGpu, which: 0 | 1, out: Buffer): number =>
    gpu.instance === undefined ? 3 : (out.writeUInt32LE(gpu.instance[which]), 0);
  const calls: Readonly<Record<string, (...args: NvmlArgument[]) => number>> = {
    nvmlInit_v2: () => options.initCode ?? 0,
    nvmlShutdown: () => 0,
    nvmlSystemGetDriverVersion: (out) => text(out, '550.90.07'),
    nvmlDeviceGetCount_v2: (out) => ((out as Buffer).writeUInt32LE(options.gpus.length), 0),
    nvmlDeviceGetHandleByIndex_v2(index, out) {
      const gpu = options.gpus[Number(index)];
      if (gpu === undefined) return 2;
      (out as Buffer).writeBigUInt64LE(handleOf(gpu));
      return gpu.lost ?? 0;
    },
    nvmlDeviceGetUUID: (handle, out) => text(out, gpuOf(handle).uuid),
    nvmlDeviceGetName: (handle, out) => text(out, gpuOf(handle).name),
    nvmlDeviceGetPciInfo_v3: (handle, out) => text((out as Buffer).subarray(36), gpuOf(handle).busId),
    nvmlDeviceGetMemoryInfo_v2: (handle, out) => memory(gpuOf(handle), out as Buffer, true),
    nvmlDeviceGetMemoryInfo: (handle, out) => memory(gpuOf(handle), out as Buffer, false),
    nvmlDeviceGetMigMode(handle, current, pending) {
      const { slices } = gpuOf(handle);
      (current as Buffer).writeUInt32LE(slices === undefined ? 0 : 1);
      (pending as Buffer).writeUInt32LE(0);
      return 0;
    },
    nvmlDeviceGetMaxMigDeviceCount: (_, out) => ((out as Buffer).writeUInt32LE(7), 0),
    nvmlDeviceGetMigDeviceHandleByIndex(handle, index, out) {
      const slice = gpuOf(handle).slices?.[Number(index)];
      if (slice === undefined) return 6;
      (out as Buffer).writeBigUInt64LE(handleOf(slice));
      return 0;
    },
    nvmlDeviceGetGpuInstanceId: (handle, out) => instance(gpuOf(handle), 0, out as Buffer),
    nvmlDeviceGetComputeInstanceId: (handle, out) => instance(gpuOf(handle), 1, out as Buffer),
    nvmlDeviceGetUtilizationRates: (_, out) => ((out as Buffer).writeUInt32LE(37), 0),
    nvmlDeviceGetTemperature: (_, sensor, out) => ((out as Buffer).writeUInt32LE(sensor === 0 ? 61 : 0), 0),
    nvmlDeviceGetPowerUsage: () => 3,
  };
  const has = (name: string): boolean =>
    !(options.missing ?? []).includes(name) && (name in calls || /RunningProcesses(_v[23])?$/.test(name));
  return {
    file: 'libnvidia-ml.so.1',
    call(name, args) {
      if (!has(name)) return 13;
      const call = calls[name];
      if (call !== undefined) return call(...args);
      return list(gpuOf(args[0]), name, args[1] as Buffer, args[2] as Buffer);
    },
    errorString: (code) => WORDS[code] ?? 'Unknown Error',
  };
}

/** A program that answers each line of its stdin with the next of these lines, and the last one again and again. */
export function answering(...lines: readonly object[]): { readonly file: string; readonly args: readonly string[] } {
  const replies = lines.map((line) => JSON.stringify(line));
  const directory = tempTree({
    'host.mjs': `
      import { createInterface } from 'node:readline';
      const replies = ${JSON.stringify(replies)};
      createInterface({ input: process.stdin }).on('line', () => {
        console.log(replies.length > 1 ? replies.shift() : replies[0]);
      });`,
  });
  return { file: process.execPath, args: [`${directory}/host.mjs`] };
}
