import type { InstanceReading, ProbeFailure } from '../scheduler/events.js';
import type { DeviceName } from '../scheduler/units.js';
import { createDrmProbe, type DrmProbeOptions } from './drm/drm-probe.js';
import { EngineNames } from './engine-names.js';
import { createHostProbe } from './host-probe.js';
import { createFallbackProbe } from './fallback-probe.js';
import { ExpectedGpus, type ExpectedGpusOptions } from './nvidia/expected.js';
import { createNvidiaSmiProbe, type NvidiaSmiProbeOptions } from './nvidia/smi-probe.js';
import { createNvmlProbe, type NvmlProbeOptions } from './nvidia/nvml-probe.js';
import { Patient } from './patient.js';
import type { DeviceProbe, ProbeSample, ProcessTree } from './probe.js';
import { ProcessTrees } from './process-trees.js';
import { createSimProbe, type SimProbeOptions } from './sim-probe.js';

/** One look at all devices, with what could not be looked at beside it. */
export interface CombinedSample {
  readonly sample: ProbeSample;
  /** Probes and devices that could not be read, in the driver's own words. What they serve is not in the sample. */
  readonly failures: readonly ProbeFailure[];
}

/** Several probes as one. */
export interface CombinedProbe {
  /**
   * Looks at all devices at once. A tree needs to name its child only; what is below it is found here.
   * Never rejects, and no probe keeps the others waiting for long.
   */
  sample(trees: readonly ProcessTree[]): Promise<CombinedSample>;
  /** What the user should know of the probes, one sentence each; complete after the first sample. */
  notes(): readonly string[];
  /** Why there is nothing to ask in the ways that were tried; complete after the first sample. */
  absent(): readonly string[];
  close(): void;
}

export interface ProbesOptions {
  /** Simulated devices stand in for everything else: the real machine then has no part in any decision. */
  readonly sim?: SimProbeOptions | null;
  /** NVIDIA GPUs by the driver's library; null: they are not asked in this way. */
  readonly nvml?: NvmlProbeOptions | null;
  /** NVIDIA GPUs by nvidia-smi, where the library cannot be had; null: not in this way either. */
  readonly nvidiaSmi?: NvidiaSmiProbeOptions | null;
  /** AMD GPUs by the kernel; null: not at all. */
  readonly drm?: DrmProbeOptions | null;
  /** The devices that the engine says it can use, as it says now; null where it does not say. */
  readonly engineDevices?: () => readonly DeviceName[] | null;
  /** What speaks for NVIDIA GPUs that cannot be asked; by default the machine and the engine are looked at. */
  readonly expectedGpus?: ExpectedGpusOptions;
}

/** The probes of this machine as one, or those of the simulated devices. */
export function createProbes(options: ProbesOptions): CombinedProbe {
  if (options.sim) return combineProbes([createSimProbe(options.sim)]);
  const combined = combineProbes(probesOfMachine(options));
  const names = new EngineNames(options.engineDevices ?? (() => null));
  return { ...combined, sample: async (trees) => names.apply(await combined.sample(trees)) };
}

function probesOfMachine({ nvml, nvidiaSmi, drm, engineDevices, expectedGpus }: ProbesOptions): readonly DeviceProbe[] {
  const expected = new ExpectedGpus({ ...(engineDevices === undefined ? {} : { engineDevices }), ...expectedGpus });
  const ways = [
    ...(nvml ? [() => createNvmlProbe(nvml)] : []),
    ...(nvidiaSmi ? [() => createNvidiaSmiProbe(nvidiaSmi)] : []),
  ];
  return [
    ...(ways.length === 0 ? [] : [createFallbackProbe('nvidia', ways, (words) => expected.names(words))]),
    ...(drm && process.platform === 'linux' ? [createDrmProbe(drm)] : []),
    createHostProbe(),
  ];
}

/** Merges probes: the devices one after the other, an instance's memory in one reading. A failing one takes no other down. */
export function combineProbes(
  probes: readonly DeviceProbe[],
  trees: Pick<ProcessTrees, 'complete'> = new ProcessTrees(),
): CombinedProbe {
  const patients = probes.map((probe) => new Patient(probe));
  return {
    async sample(roots) {
      const whole = await trees.complete(roots);
      const outcomes = await Promise.all(patients.map((patient) => patient.sample(whole)));
      const samples = outcomes.flatMap(({ sample }) => sample ?? []);
      const failures = outcomes.flatMap(({ sample, failure }) => failure ?? sample.failures ?? []);
      return { sample: merge(samples), failures };
    },
    notes: () => probes.flatMap(({ notes }) => notes ?? []),
    absent: () => probes.flatMap(({ absent }) => absent ?? []),
    close() {
      for (const probe of probes) probe.close();
    },
  };
}

function merge(samples: readonly ProbeSample[]): ProbeSample {
  const instances = new Map<string, InstanceReading>();
  for (const reading of samples.flatMap((sample) => sample.instances)) {
    const key = `${reading.generation} ${reading.model}`;
    const before = instances.get(key);
    instances.set(key, before ? { ...before, resident: { ...before.resident, ...reading.resident } } : reading);
  }
  const activity = Object.fromEntries(samples.flatMap((sample) => Object.entries(sample.activity ?? {})));
  return {
    devices: samples.flatMap((sample) => sample.devices),
    instances: [...instances.values()],
    ...(Object.keys(activity).length === 0 ? {} : { activity }),
  };
}
