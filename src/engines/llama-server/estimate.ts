import type { CatalogEntry } from '../../catalog/entry.js';
import type { DeviceReading } from '../../scheduler/events.js';
import type { Placement } from '../../scheduler/state.js';
import { MIB, type Bytes, type DeviceBytes, type DeviceName } from '../../scheduler/units.js';

/** CUDA context and compute buffers of a usual model on one GPU; a guess that the first real load corrects. */
const DEVICE_OVERHEAD_BYTES: Bytes = 512 * MIB;
const HOST_OVERHEAD_BYTES: Bytes = 256 * MIB;
/** The smallest context that llama-server's fit goes down to, by default (`--fit-ctx`). */
const SMALLEST_FITTED_CONTEXT = 4096;

/** Size of one cache element relative to 16 bits: ggml's block sizes. */
const CACHE_TYPES: Readonly<Record<string, number>> = {
  f32: 2,
  q8_0: 34 / 64,
  q5_1: 24 / 64,
  q5_0: 22 / 64,
  q4_1: 20 / 64,
  q4_0: 18 / 64,
  iq4_nl: 18 / 64,
};

/**
 * What a model is expected to need before anything was measured: file sizes and KV cache at the pinned (else
 * the smallest) context. On a machine with accelerators: on each of them alone, then split over all in
 * proportion to their memory, as llama.cpp does; on one without, in system memory. What the entry says of
 * devices, layers and split is respected.
 *
 * `known` are the devices that the engine's program can use, as it names them, or null when that is not known.
 * If they are others than the probes see (a Vulkan build on a machine whose GPUs are probed as CUDA's), where
 * the model goes cannot be told, and the estimate is empty rather than wrong.
 * A device of 0 bytes is one whose size is not known: it counts as large enough, and as large as any other.
 */
export function estimatePlacements(
  entry: CatalogEntry,
  devices: readonly DeviceReading[],
  known: readonly DeviceName[] | null = null,
): readonly Placement[] {
  const size = estimateSize(entry);
  if (size === 0 || usesRemote(entry)) return [place({})];
  const named = chooseDevices(entry, devices);
  const usable = known === null ? named : named.filter(({ name }) => known.includes(name));
  const offloaded = offloadedShare(entry);
  const unseen = known !== null && known.length > 0 && readOption(entry, 'device') !== 'none';
  if (usable.length === 0 && offloaded > 0 && unseen) return [place({})];
  if (usable.length === 0 || offloaded === 0) return [place({ Host: size + HOST_OVERHEAD_BYTES })];

  const onDevices = Math.ceil(size * offloaded);
  const rest: DeviceBytes = offloaded < 1 ? { Host: size - onDevices + HOST_OVERHEAD_BYTES } : {};
  const split = (shares: readonly (readonly [DeviceName, number])[]): Placement => {
    const sum = shares.reduce((total, [, share]) => total + share, 0);
    const used = shares.filter(([, share]) => share > 0);
    return place({
      ...Object.fromEntries(
        used.map(([name, share]) => [name, Math.ceil((onDevices * share) / sum) + DEVICE_OVERHEAD_BYTES]),
      ),
      ...rest,
    });
  };

  const alone = usable.map(({ name }) => split([[name, 1]]));
  const isSized = usable.every(({ totalBytes }) => totalBytes > 0);
  const together = split(usable.map(({ name, totalBytes }) => [name, isSized ? totalBytes : 1] as const));
  const ratios = readRatios(entry, usable.length);
  if (readOption(entry, 'split-mode') === 'none') {
    const named = readOption(entry, 'main-gpu');
    const main = alone[Number(named ?? 0)];
    return (isPlaced(entry) || named !== null) && main ? [main] : alone;
  }
  if (ratios) return [split(usable.map(({ name }, index) => [name, ratios[index] ?? 0] as const))];
  if (isPlaced(entry) || usable.length === 1) return [together];
  return [...alone, together];
}

function place(need: DeviceBytes): Placement {
  return { need, quality: 'estimate' };
}

function estimateSize({ files, header, contextTokens, ...entry }: CatalogEntry): Bytes {
  if (files === null) return 0;
  const smallest = Math.min(header?.trainedContextTokens ?? SMALLEST_FITTED_CONTEXT, SMALLEST_FITTED_CONTEXT);
  // 0 means "as much as the model was trained for".
  const context = contextTokens === 0 ? (header?.trainedContextTokens ?? smallest) : (contextTokens ?? smallest);
  const types = ['cache-type-k', 'cache-type-v'].map((name) => CACHE_TYPES[readOption(entry, name) ?? 'f16'] ?? 1);
  const scale = types.reduce((sum, factor) => sum + factor, 0) / types.length;
  return Math.ceil(files.sizeBytes + (header?.kvBytesPerToken ?? 0) * context * scale);
}

/** Accelerators that a child would use: those that the entry names, else every local one. */
function chooseDevices(entry: CatalogEntry, devices: readonly DeviceReading[]): readonly DeviceReading[] {
  const named = readOption(entry, 'device')
    ?.split(',')
    .map((name) => name.trim());
  if (named) return named.flatMap((name) => devices.filter((device) => device.name === name && device.kind !== 'host'));
  return devices.filter(({ kind }) => kind === 'discrete' || kind === 'unified');
}

/** Remote devices share in a model, by what they have free, which nobody here knows; unless the entry leaves them out. */
function usesRemote(entry: CatalogEntry): boolean {
  const named = readOption(entry, 'device');
  return readOption(entry, 'rpc') !== null && (named === null || /\bRPC/.test(named));
}

/** True when the entry itself says which devices to use. */
function isPlaced(entry: CatalogEntry): boolean {
  return readOption(entry, 'device') !== null;
}

/** Part of the model that goes to accelerators, 0..1; layers and the output layer count alike. */
function offloadedShare(entry: CatalogEntry): number {
  const layers = Number(readOption(entry, 'n-gpu-layers') ?? NaN);
  // "auto", "all", a negative number and no option at all: everything, as far as it fits.
  if (!Number.isFinite(layers) || layers < 0) return 1;
  if (layers === 0) return 0;
  return entry.header?.layers == null ? 1 : Math.min(1, layers / (entry.header.layers + 1));
}

function readRatios(entry: CatalogEntry, count: number): readonly number[] | null {
  const text = readOption(entry, 'tensor-split');
  if (text === null) return null;
  const ratios = text.split(/[,/]/).slice(0, count).map(Number);
  return ratios.some((ratio) => !(ratio >= 0)) || ratios.every((ratio) => ratio === 0) ? null : ratios;
}

function readOption(entry: Pick<CatalogEntry, 'options'>, name: string): string | null {
  const value = entry.options.findLast((option) => option.name === name)?.value;
  return typeof value === 'string' ? value : null;
}
