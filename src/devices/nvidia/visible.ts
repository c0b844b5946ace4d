import type { NvidiaGpu } from './gpu.js';

type Gpu = Pick<NvidiaGpu, 'uuid' | 'busId'> & { readonly slices: readonly NvidiaGpu[] | null };

/** A slice as drivers before R470 name it: its GPU, its GPU instance and its compute instance. */
const OLD_SLICE = /^MIG-(?<gpu>GPU-[0-9a-f-]+)\/(?<instance>\d+)\/(?<compute>\d+)$/iu;

/**
 * The GPUs that a CUDA program sees, in its order when `CUDA_DEVICE_ORDER=PCI_BUS_ID`: by bus id, or as
 * `CUDA_VISIBLE_DEVICES` has it: indices, UUID prefixes, or a MIG slice, by its UUID or in the older way (`MIG-GPU-…/1/0`); what follows an unknown one is not seen. A
 * program can use one slice only: the first that is named, and then nothing else.
 * Sources: CUDA C++ Programming Guide, "CUDA Environment Variables"; MIG User Guide, "Device Enumeration".
 */
export function visibleGpus<T extends Gpu>(
  gpus: readonly T[],
  visibleDevices: string | undefined,
): readonly (T | NvidiaGpu)[] {
  const byBus = gpus.toSorted((a, b) => (a.busId < b.busId ? -1 : 1));
  if (visibleDevices === undefined) return byBus;
  const seen: (T | NvidiaGpu)[] = [];
  for (const token of visibleDevices.split(',').map((text) => text.trim())) {
    if (token.startsWith('MIG-')) {
      const slices = byBus.flatMap((gpu) => slicesNamed(gpu, token));
      return slices.length === 1 ? slices : seen;
    }
    const matches = /^\d+$/.test(token) ? byBus.slice(Number(token), Number(token) + 1) : byUuid(byBus, token);
    const [gpu] = matches;
    if (gpu === undefined || matches.length > 1 || seen.includes(gpu)) break;
    seen.push(gpu);
  }
  return seen;
}

function byUuid<T extends Gpu>(gpus: readonly T[], prefix: string): readonly T[] {
  return prefix.startsWith('GPU-') ? gpus.filter(({ uuid }) => uuid.startsWith(prefix)) : [];
}

function slicesNamed({ uuid, slices }: Gpu, token: string): readonly NvidiaGpu[] {
  const old = OLD_SLICE.exec(token)?.groups;
  return (slices ?? []).filter((slice) => {
    if (old === undefined) return slice.uuid.startsWith(token);
    // Such drivers have it as the slice's UUID.
    if (slice.instance === null || !uuid.startsWith(old['gpu'] ?? '')) return slice.uuid === token;
    return slice.instance.gpu === Number(old['instance']) && slice.instance.compute === Number(old['compute']);
  });
}
