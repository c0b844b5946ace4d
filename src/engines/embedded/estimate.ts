import type { CatalogEntry } from '../../catalog/entry.js';
import type { DeviceReading } from '../../scheduler/events.js';
import type { Placement } from '../../scheduler/state.js';
import { MIB, type Bytes, type DeviceBytes } from '../../scheduler/units.js';
import { guessContext } from '../driver-context.js';
import { planContext } from './model/context-size.js';
import { isUsableDevice } from './devices.js';

/**
 * What the Node process itself takes, without model and context: resident memory of an idle child with a loaded
 * 12 MB model, less that model and its context, came to 108 to 118 MiB (Node 22, Linux x64, CPU build).
 */
const NODE_BASELINE_BYTES: Bytes = 128 * MIB;
/** llama.cpp's compute buffers: a few MiB for tiny models, some hundred for those with large vocabularies. */
const SMALLEST_COMPUTE_BYTES: Bytes = 16 * MIB;
const COMPUTE_SHARE = 0.05;
/** Where the header does not tell what the cache takes, this part of the file size per 4096 tokens of context. */
const UNKNOWN_CACHE_SHARE = 0.1;

/**
 * Ways to lay a model out, preferred first: on each single accelerator that is large enough, split over all of
 * them in proportion to their memory, and in system memory, which is all there is on a machine without one.
 * Counts the files, the cache of all sequences and what the process takes. A device of 0 bytes is one whose size is not
 * known: it counts as large enough, and as large as any other.
 */
export function estimateEmbedded(entry: CatalogEntry, devices: readonly DeviceReading[]): readonly Placement[] {
  if (entry.invalid !== null || entry.files === null) return [{ need: {}, quality: 'estimate' }];
  const bytes = modelBytes(entry, entry.files.sizeBytes);
  const onHost = place({ Host: bytes + NODE_BASELINE_BYTES });
  const usable = usableDevices(entry, devices);
  if (usable.length === 0) return [onHost];

  const rest: DeviceBytes = { Host: NODE_BASELINE_BYTES };
  const alone = usable
    .filter((device) => device.totalBytes === 0 || bytes + guessContext(device) <= device.totalBytes)
    .map((device) => place({ [device.name]: bytes + guessContext(device), ...rest }));
  const isSized = usable.every(({ totalBytes }) => totalBytes > 0);
  const total = usable.reduce((sum, { totalBytes }) => sum + totalBytes, 0);
  const share = (device: DeviceReading): [string, Bytes] => {
    const part = isSized ? device.totalBytes / total : 1 / usable.length;
    return [device.name, Math.ceil(bytes * part) + guessContext(device)];
  };
  const split = usable.length > 1 ? [place({ ...Object.fromEntries(usable.map(share)), ...rest })] : [];
  // Where the user named the devices, the processor is no substitute for them.
  return readOption(entry, 'device') !== null && alone.length + split.length > 0
    ? [...alone, ...split]
    : [...alone, ...split, onHost];
}

function place(need: DeviceBytes): Placement {
  return { need, quality: 'estimate' };
}

function modelBytes(entry: CatalogEntry, fileBytes: Bytes): Bytes {
  const parallel = Number(readOption(entry, 'parallel') ?? -1);
  const plan = planContext(
    {
      contextTokens: askedContext(entry),
      parallel: Number.isInteger(parallel) && parallel > 0 ? parallel : null,
      embeddings: entry.options.some(({ name, value }) => name === 'embeddings' && value !== 'false'),
    },
    entry.header?.trainedContextTokens ?? null,
  );
  const perToken = entry.header?.kvBytesPerToken ?? (fileBytes * UNKNOWN_CACHE_SHARE) / 4096;
  const compute = Math.max(SMALLEST_COMPUTE_BYTES, fileBytes * COMPUTE_SHARE);
  return Math.ceil(fileBytes + perToken * plan.tokensPerSequence * plan.sequences + compute);
}

/** An entry says null for `--ctx-size 0` too. */
function askedContext(entry: CatalogEntry): number | null {
  return entry.contextTokens ?? (readOption(entry, 'ctx-size') === '0' ? 0 : null);
}

function usableDevices(entry: CatalogEntry, devices: readonly DeviceReading[]): readonly DeviceReading[] {
  if (Number(readOption(entry, 'n-gpu-layers') ?? NaN) === 0) return [];
  const named = readOption(entry, 'device')?.split(',');
  return devices.filter(
    ({ kind, name }) =>
      (kind === 'discrete' || kind === 'unified') && isUsableDevice(name) && (named?.includes(name) ?? true),
  );
}

function readOption(entry: CatalogEntry, name: string): string | null {
  const value = entry.options.findLast((option) => option.name === name)?.value;
  return typeof value === 'string' ? value : null;
}
