import { readStartTime } from '../../devices/process-start.js';
import { readLedger, sumOn, writeHolding, type SimDevice } from '../../devices/sim-ledger.js';
import { MIB, type Bytes, type DeviceBytes, type DeviceName } from '../../scheduler/units.js';

/** Memory ran out: what was wanted, where. */
export class OutOfMemory extends Error {
  readonly device: DeviceName;
  readonly askedBytes: Bytes;

  constructor(device: DeviceName, askedBytes: Bytes) {
    super(`out of memory on ${device}`);
    this.device = device;
    this.askedBytes = askedBytes;
  }
}

/**
 * Memory of this process on the simulated devices. An allocation is written first and counted after: of two
 * processes that want the last of a device, the later writer sees both, so that a device is never silently
 * overcommitted; both may fail, as they may on a real one.
 */
export class SimMemory {
  readonly #directory: string;
  readonly #totals: readonly SimDevice[];
  readonly #startTime: string | null = readStartTime(process.pid) ?? null;
  #held: DeviceBytes = {};

  constructor(directory: string, totals: readonly SimDevice[]) {
    this.#directory = directory;
    this.#totals = totals;
  }

  /**
   * Holds so much from now on; throws OutOfMemory, and holds what it held before, when a device has no room.
   * @param wanted what it is on its way to: what is missing of that is what it asks for
   */
  hold(devices: DeviceBytes, wanted: DeviceBytes = devices): void {
    this.#write(devices);
    const ledger = readLedger(this.#directory);
    const full = this.#totals.find(({ name, totalBytes }) => {
      return (devices[name] ?? 0) > (this.#held[name] ?? 0) && sumOn(name, ledger) > totalBytes;
    });
    if (full) {
      this.#write(this.#held);
      throw new OutOfMemory(full.name, (wanted[full.name] ?? 0) - (this.#held[full.name] ?? 0));
    }
    this.#held = devices;
  }

  #write(devices: DeviceBytes): void {
    writeHolding(this.#directory, { pid: process.pid, startTime: this.#startTime, devices });
  }
}

/** What llama.cpp with CUDA prints when memory runs out, so that one reader understands both. */
export function describeOutOfMemory(device: DeviceName, askedBytes: Bytes): readonly string[] {
  const number = /\d+$/.exec(device)?.[0] ?? '0';
  const mib = (askedBytes / MIB).toFixed(2);
  return [
    `ggml_backend_cuda_buffer_type_alloc_buffer: allocating ${mib} MiB on device ${number}: cudaMalloc failed: out of memory`,
    `llama_model_load: error loading model: unable to allocate ${device} buffer`,
    'srv    load_model: failed to load model (simulated)',
  ];
}
