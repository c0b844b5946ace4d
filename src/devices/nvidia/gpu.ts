import type { ProbeFailure } from '../../scheduler/events.js';
import type { Bytes, DeviceName } from '../../scheduler/units.js';
import type { DeviceProcess, DriverReading } from '../attribute.js';
import { readHostMemory } from '../host-memory.js';
import type { DeviceActivity, ProbeSample } from '../probe.js';
import { visibleGpus } from './visible.js';

/** One GPU, or one MIG slice of one, as the driver describes it. */
export interface NvidiaGpu {
  /** `GPU-…`, or `MIG-…` of a slice. */
  readonly uuid: string;
  /** PCI bus id, e.g. `00000000:01:00.0`; a slice has its GPU's. */
  readonly busId: string;
  readonly description: string;
  /** Used is what nobody can have any more: also what the driver keeps for itself. Null: not told. */
  readonly memory: { readonly totalBytes: Bytes; readonly usedBytes: Bytes } | null;
  readonly processes: readonly DeviceProcess[] | null;
  /** Slices, when it is in MIG mode; its own memory is then not to be had. */
  readonly slices: readonly NvidiaGpu[] | null;
  /** Which slice of its GPU it is; null for a GPU, and where that is not told. */
  readonly instance: { readonly gpu: number; readonly compute: number } | null;
  /** True when it has no memory of its own to speak of (Jetson, GB10). */
  readonly sharesSystemMemory: boolean;
  /** Why its memory is not told, in the driver's own words. */
  readonly problem: string | null;
  /** Null where the driver does not tell, as of a slice. */
  readonly activity: DeviceActivity | null;
}

/**
 * What CUDA's children call `CUDA0`, `CUDA1`, …, as far as it can be told, and of each GPU why it
 * cannot. A GPU that cannot be read keeps its number. What there is nothing of is left out.
 */
export async function readingsOf(
  gpus: readonly NvidiaGpu[],
  visibleDevices: string | undefined,
  source: string,
): Promise<{ readonly readings: readonly DriverReading[] } & Pick<ProbeSample, 'failures' | 'activity'>> {
  const readings: DriverReading[] = [];
  const failures: ProbeFailure[] = [];
  const activity: Record<DeviceName, DeviceActivity> = {};
  for (const [index, gpu] of visibleGpus(gpus, visibleDevices).entries()) {
    const name = `CUDA${index}`;
    const memory = gpu.memory ?? (gpu.sharesSystemMemory ? await systemMemory() : null);
    if (memory === null) {
      const lasting = willNeverTell(gpu) ? { lasting: true } : {};
      failures.push({ devices: [name], message: `${source}: ${problemOf(gpu)}`, ...lasting });
      continue;
    }
    if (gpu.activity !== null) activity[name] = gpu.activity;
    readings.push({
      name,
      kind: gpu.memory === null ? 'unified' : 'discrete',
      description: gpu.description,
      totalBytes: memory.totalBytes,
      usedBytes: Math.min(memory.totalBytes, Math.max(0, memory.usedBytes)),
      source,
      processes: gpu.memory === null ? null : gpu.processes,
      ...(gpu.memory === null ? { remark: 'shares system memory: what the system has in use counts here too' } : {}),
    });
  }
  return {
    readings,
    ...(failures.length === 0 ? {} : { failures }),
    ...(Object.keys(activity).length === 0 ? {} : { activity }),
  };
}

function problemOf({ description, busId, slices, problem }: NvidiaGpu): string {
  if (slices !== null) {
    return `${description} (${busId}) is in MIG mode; name one of its slices (MIG-…) in CUDA_VISIBLE_DEVICES to have it counted.`;
  }
  return `${description} (${busId}): ${problem ?? 'it does not report its memory'}`;
}

/** True of a GPU that is well, and whose driver has no figures of it in this way: asking again changes nothing. */
function willNeverTell({ slices, problem }: NvidiaGpu): boolean {
  return slices !== null || /\[(?:N\/A|Not Supported)\]/u.test(problem ?? '');
}

/** What a GPU without memory of its own allocates from. */
async function systemMemory(): Promise<NvidiaGpu['memory']> {
  const { totalBytes, availableBytes } = await readHostMemory();
  return { totalBytes, usedBytes: Math.max(0, totalBytes - availableBytes) };
}

/** A GPU that sleeps: nobody has it open, so nothing of it is used. */
export function asleep(gpu: NvidiaGpu): NvidiaGpu {
  return {
    ...gpu,
    memory: gpu.memory && { ...gpu.memory, usedBytes: 0 },
    processes: gpu.processes && [],
    activity: null,
  };
}
