import type { Millis } from '../../scheduler/units.js';
import { Attribution } from '../attribute.js';
import type { DeviceProbe, ProcessTree } from '../probe.js';
import { asleep, readingsOf, type NvidiaGpu } from './gpu.js';
import { sleepingGpus } from './sleeping.js';
import { SmiLoop, type SmiLoopOptions } from './smi-loop.js';
import { SmiPace } from './smi-pace.js';
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
  /** How the program that goes on looking is kept; null: none is, and every look starts the program anew. */
  readonly loop?: Partial<Omit<SmiLoopOptions, 'file'>> | null;
  /** Whether the driver's pids are ours; by default found out from the system. */
  readonly pidsAreOurs?: boolean;
}

const DEFAULT_LIMIT_MILLIS: Millis = 5000;
/** Processes are asked for after so long in any case: two of them may have changed places. */
const WHOLE_LOOK_MILLIS: Millis = 10_000;
/** Columns that tell whether anything has come or gone: all but how busy a GPU is. */
const TELLING_COLUMNS = 7;

type Rows = readonly (readonly string[])[];

/** GPUs and processes as they were asked for afresh, and what of ours there was then. */
interface WholeLook {
  readonly at: Millis;
  readonly gpus: Rows;
  readonly processes: Rows;
  readonly pids: string;
}

/**
 * NVIDIA GPUs by the command line tool of the driver, named `CUDA0`, `CUDA1`, … as ggml's children see them.
 * For machines where NVML cannot be loaded directly. Only one run is in flight: who asks meanwhile gets its
 * result. GPUs that all sleep (runtime power management) are not woken: nobody has them open, so nothing is used.
 *
 * While it is asked steadily one program goes on looking at the GPUs; as long as it shows the memory that a whole look
 * has shown, the processes are those of that look. It is not kept where nobody looks, since it would keep GPUs awake.
 */
export function createNvidiaSmiProbe(options: NvidiaSmiProbeOptions = {}): DeviceProbe {
  const { file = 'nvidia-smi', limitMillis = DEFAULT_LIMIT_MILLIS } = options;
  const visibleDevices = 'visibleDevices' in options ? options.visibleDevices : process.env['CUDA_VISIBLE_DEVICES'];
  const attribution = new Attribution(options.pidsAreOurs);
  let fields = GPU_FIELDS;
  let known: readonly NvidiaGpu[] = [];
  let inFlight: Promise<readonly NvidiaGpu[]> | null = null;
  let stuck = false;
  let whole: WholeLook | null = null;
  const loop = new SmiLoop({ file, ...options.loop });
  const pace = new SmiPace();

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
  const lookAtAll = async (pids: string): Promise<WholeLook> => {
    if (stuck) throw new Error(`${file} still hangs in an earlier run; the driver does not answer.`);
    const at = performance.now();
    // One after the other: memory that appears in between is then nobody's for one sample, never counted twice.
    const processes = await run([`--query-compute-apps=${PROCESS_FIELDS}`]);
    return { at, processes, gpus: await queryGpus(), pids };
  };
  /** What the program that goes on looking sees, if that is all there is to see. */
  const lookAgain = async (pids: string): Promise<Rows | null> => {
    const askedAt = Date.now();
    const period = options.loop === null ? null : pace.asked();
    if (period === null) loop.close();
    if (period === null || whole === null) return null;
    const rows = await loop.rowsSince(askedAt, fields, period);
    const isNew = whole.pids !== pids || performance.now() - whole.at > WHOLE_LOOK_MILLIS;
    return rows === null || isNew || !sameMemory(rows, whole.gpus) ? null : rows;
  };
  const read = async (trees: readonly ProcessTree[]): Promise<readonly NvidiaGpu[]> => {
    if (await sleepingGpus(known, options.pciDirectory)) {
      loop.close();
      return known.map(asleep);
    }
    const pids = trees.flatMap((tree) => tree.pids).join(' ');
    const rows = await lookAgain(pids);
    if (rows === null || whole === null) {
      whole = null;
      whole = await lookAtAll(pids);
      known = readGpuRows(whole.gpus, whole.processes);
    } else known = readGpuRows(rows, whole.processes);
    return known;
  };

  return {
    name: 'nvidia-smi',
    capabilities: { total: true, used: true, perProcess: true, names: true },
    async sample(trees) {
      inFlight ??= read(trees).finally(() => (inFlight = null));
      const { readings, ...rest } = await readingsOf(await inFlight, visibleDevices, 'nvidia-smi');
      const remark = loop.trouble;
      const remarked = remark === null ? readings : readings.map((reading) => ({ remark, ...reading }));
      return { ...(await attribution.attribute(remarked, trees)), ...rest };
    },
    close: () => loop.close(),
  };
}

function sameMemory(a: Rows, b: Rows): boolean {
  const telling = (rows: Rows): string => rows.map((row) => row.slice(0, TELLING_COLUMNS).join()).join('\n');
  return telling(a) === telling(b);
}
