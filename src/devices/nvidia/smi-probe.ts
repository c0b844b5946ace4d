import type { Millis } from '../../scheduler/units.js';
import { Attribution } from '../attribute.js';
import type { DeviceProbe } from '../probe.js';
import { asleep, readingsOf, type NvidiaGpu } from './gpu.js';
import { sleepingGpus } from './sleeping.js';
import { GPU_FIELDS, OLD_GPU_FIELDS, PROCESS_FIELDS, readGpuRows } from './smi-rows.js';
import { runNvidiaSmi } from './smi-run.js';

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

const DEFAULT_LIMIT_MILLIS: Millis = 5000;

/**
 * NVIDIA GPUs by the command line tool of the driver, named `CUDA0`, `CUDA1`, … as ggml's children see them.
 * For machines where NVML cannot be loaded directly. Only one run is in flight: who asks meanwhile gets its
 * result. GPUs that all sleep (runtime power management) are not woken: nobody has them open, so nothing is used.
 */
export function createNvidiaSmiProbe(options: NvidiaSmiProbeOptions = {}): DeviceProbe {
  const { file = 'nvidia-smi', limitMillis = DEFAULT_LIMIT_MILLIS } = options;
  const visibleDevices = 'visibleDevices' in options ? options.visibleDevices : process.env['CUDA_VISIBLE_DEVICES'];
  const attribution = new Attribution(options.pidsAreOurs);
  let fields = GPU_FIELDS;
  let known: readonly NvidiaGpu[] = [];
  let inFlight: Promise<readonly NvidiaGpu[]> | null = null;
  let stuck = false;

  const run = (query: readonly string[]): Promise<readonly (readonly string[])[]> => {
    const { rows, settled } = runNvidiaSmi(file, query, limitMillis);
    stuck = true;
    void settled.then(() => (stuck = false));
    return rows;
  };
  const queryGpus = async (): Promise<readonly (readonly string[])[]> => {
    try {
      return await run([`--query-gpu=${fields}`]);
    } catch (error) {
      if (fields === OLD_GPU_FIELDS || !/not a valid field/i.test(String(error))) throw error;
      fields = OLD_GPU_FIELDS;
      return queryGpus();
    }
  };
  const read = async (): Promise<readonly NvidiaGpu[]> => {
    if (stuck) throw new Error(`${file} still hangs in an earlier run; the driver does not answer.`);
    if (await sleepingGpus(known, options.pciDirectory)) return known.map(asleep);
    // One after the other: memory that appears in between is then nobody's for one sample, never counted twice.
    const processes = await run([`--query-compute-apps=${PROCESS_FIELDS}`]);
    known = readGpuRows(await queryGpus(), processes);
    return known;
  };

  return {
    name: 'nvidia-smi',
    capabilities: { total: true, used: true, perProcess: true, names: true },
    async sample(trees) {
      inFlight ??= read().finally(() => (inFlight = null));
      const { readings, ...rest } = await readingsOf(await inFlight, visibleDevices, 'nvidia-smi');
      return { ...(await attribution.attribute(readings, trees)), ...rest };
    },
    close: () => undefined,
  };
}
