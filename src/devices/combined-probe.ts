import type { InstanceReading } from '../scheduler/events.js';
import type { Millis } from '../scheduler/units.js';
import { createHostProbe } from './host-probe.js';
import { createNvidiaSmiProbe, type NvidiaSmiProbeOptions } from './nvidia-smi-probe.js';
import type { DeviceProbe, ProbeSample, ProcessTree } from './probe.js';
import { findTree, readProcessTable, type ProcessRow } from './process-table.js';
import { createSimProbe, type SimProbeOptions } from './sim-probe.js';

/** How long a table of processes is good for. */
const TABLE_MILLIS: Millis = 2000;

/** One look at all devices, with what could not be looked at beside it. */
export interface CombinedSample {
  readonly sample: ProbeSample;
  /** One sentence per probe that failed, e.g. `nvidia-smi: Failed to initialize NVML: …`. Its devices are not in the sample. */
  readonly errors: readonly string[];
}

/** Several probes as one. */
export interface CombinedProbe {
  /**
   * Looks at all devices at once. A tree needs to name its child only; what is below it is found here.
   * Never rejects.
   */
  sample(trees: readonly ProcessTree[]): Promise<CombinedSample>;
  close(): void;
}

export interface ProbesOptions {
  /** Simulated devices stand in for everything else: the real machine then has no part in any decision. */
  readonly sim?: SimProbeOptions | null;
  /** NVIDIA GPUs by nvidia-smi; null where there are none. */
  readonly nvidiaSmi?: NvidiaSmiProbeOptions | null;
}

/** The probes of this machine as one, or those of the simulated devices. */
export function createProbes(options: ProbesOptions): CombinedProbe {
  if (options.sim) return combineProbes([createSimProbe(options.sim)]);
  const gpus = options.nvidiaSmi ? [createNvidiaSmiProbe(options.nvidiaSmi)] : [];
  return combineProbes([...gpus, createHostProbe()]);
}

/** Merges probes: the devices one after the other, an instance's memory in one reading. A failing one takes no other down. */
export function combineProbes(
  probes: readonly DeviceProbe[],
  readTable: () => Promise<readonly ProcessRow[] | null> = readProcessTable,
): CombinedProbe {
  const findTrees = treeFinder(readTable);
  return {
    async sample(trees) {
      const whole = await findTrees(trees);
      const results = await Promise.allSettled(probes.map(async (probe) => probe.sample(whole)));
      const errors: string[] = [];
      const samples: ProbeSample[] = [];
      results.forEach((result, index) => {
        if (result.status === 'fulfilled') samples.push(result.value);
        else errors.push(`${probes[index]?.name ?? 'probe'}: ${messageOf(result.reason)}`);
      });
      return { sample: merge(samples), errors };
    },
    close() {
      for (const probe of probes) probe.close();
    },
  };
}

/**
 * Completes trees. The table of processes is read again when a tree is new, else only now and then: devices are
 * sampled several times a second while a model loads, and reading a thousand processes each time is not cheap.
 */
function treeFinder(
  readTable: () => Promise<readonly ProcessRow[] | null>,
): (trees: readonly ProcessTree[]) => Promise<readonly ProcessTree[]> {
  let known = new Map<string, readonly number[]>();
  let readAt: Millis = -Infinity;
  const key = ({ pids }: ProcessTree): string => pids.join(' ');
  return async (trees) => {
    if (trees.length === 0) return trees;
    const fresh = performance.now() - readAt < TABLE_MILLIS;
    if (!fresh || trees.some((tree) => !known.has(key(tree)))) {
      const table = (await readTable()) ?? [];
      readAt = performance.now();
      known = new Map(trees.map((tree) => [key(tree), findTree(tree.pids, table)]));
    }
    return trees.map((tree) => ({ ...tree, pids: known.get(key(tree)) ?? tree.pids }));
  };
}

function merge(samples: readonly ProbeSample[]): ProbeSample {
  const instances = new Map<string, InstanceReading>();
  for (const reading of samples.flatMap((sample) => sample.instances)) {
    const key = `${reading.generation} ${reading.model}`;
    const before = instances.get(key);
    instances.set(key, before ? { ...before, resident: { ...before.resident, ...reading.resident } } : reading);
  }
  return { devices: samples.flatMap((sample) => sample.devices), instances: [...instances.values()] };
}

function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
