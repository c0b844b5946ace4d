import { dirname, join } from 'node:path';
import type { NvmlGpu } from '../../../native/nvml.js';
import { AskedChild } from '../asked-child.js';
import { Attribution } from '../attribute.js';
import { ProbeAbsent, type DeviceProbe } from '../probe.js';
import type { ProcessOwners } from '../process-owner.js';
import { asleep, readingsOf, type NvidiaGpu } from './gpu.js';
import { parseNvmlReply } from './nvml-reply.js';
import { sleepingGpus } from './sleeping.js';

export interface NvmlProbeOptions {
  /** The program that reads NVML; for tests. */
  readonly command?: { readonly file: string; readonly args: readonly string[] };
  readonly limits?: Partial<ConstructorParameters<typeof AskedChild>[0]>;
  /** `CUDA_VISIBLE_DEVICES` as the children have it; default: as this process has it. */
  readonly visibleDevices?: string | undefined;
  /** Where the kernel says whether a PCI device sleeps; default `/sys/bus/pci/devices`. */
  readonly pciDirectory?: string;
  /** Whether the driver's pids are ours; by default found out from the system. */
  readonly pidsAreOurs?: boolean;
  readonly owners?: ProcessOwners;
}

/** So often in a row its reader may end without an answer. */
const MOST_CRASHES = 3;

/** Small: it keeps nothing, and the figures are a few kilobytes. */
const NODE_ARGS = ['--max-semi-space-size=1', '--v8-pool-size=0'];

/**
 * NVIDIA GPUs by the driver's own library, named `CUDA0`, `CUDA1`, … as ggml's children see them. The library is loaded
 * in a child process. Rejects with ProbeAbsent where there is no such library. GPUs that all sleep are not asked.
 */
export function createNvmlProbe(options: NvmlProbeOptions = {}): DeviceProbe {
  const { command = { file: process.execPath, args: [...NODE_ARGS, builtHostFile()] } } = options;
  const visibleDevices = 'visibleDevices' in options ? options.visibleDevices : process.env['CUDA_VISIBLE_DEVICES'];
  const child = new AskedChild({ title: 'NVML', ...command, ...options.limits });
  const attribution = new Attribution(options.pidsAreOurs, options.owners);
  let known: readonly NvidiaGpu[] = [];
  let inFlight: Promise<readonly NvidiaGpu[]> | null = null;

  const ask = async (): Promise<string> => {
    try {
      return await child.ask();
    } catch (error) {
      // A library that kills whoever loads it is as good as none.
      if (child.crashes >= MOST_CRASHES) throw new ProbeAbsent(error instanceof Error ? error.message : String(error));
      throw error;
    }
  };
  const read = async (): Promise<readonly NvidiaGpu[]> => {
    if (await sleepingGpus(known, options.pciDirectory)) return known.map(asleep);
    const line = await ask();
    const reply = parseNvmlReply(line);
    if (reply !== null && 'absent' in reply) throw new ProbeAbsent(reply.absent);
    if (reply === null || 'error' in reply) {
      const message = reply === null ? `its reader said: ${line.slice(0, 200)}` : reply.error;
      child.failed(message);
      throw new Error(message);
    }
    child.succeeded();
    known = reply.gpus.map((gpu, index) => ({ ...toGpu(gpu), activity: reply.activity?.[index] ?? null }));
    return known;
  };

  return {
    name: 'nvml',
    capabilities: { total: true, used: true, perProcess: true, names: true },
    async sample(trees) {
      inFlight ??= read().finally(() => (inFlight = null));
      const { readings, ...rest } = await readingsOf(await inFlight, visibleDevices, 'nvml');
      return { ...(await attribution.attribute(readings, trees)), ...rest };
    },
    close: () => child.close(),
  };
}

function toGpu({ name, memory, slices, error, ...gpu }: NvmlGpu): NvidiaGpu {
  return {
    ...gpu,
    description: name,
    memory: memory === null ? null : { totalBytes: memory.totalBytes, usedBytes: memory.totalBytes - memory.freeBytes },
    slices: slices?.map(toGpu) ?? null,
    problem: error,
    activity: null,
  };
}

/** Run from source, as tests do, it is the one that was built last: Node cannot run it from source. */
function builtHostFile(): string {
  const here = import.meta.dirname;
  if (!import.meta.filename.endsWith('.ts')) return join(here, 'nvml-host.js');
  return join(dirname(dirname(dirname(here))), 'dist', 'src', 'devices', 'nvidia', 'nvml-host.js');
}
