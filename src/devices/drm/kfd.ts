import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bytes } from '../../scheduler/units.js';
import { readNumber, readText } from './cards.js';

/** A GPU that ROCm can compute on. */
export interface KfdGpu {
  /** The kernel's number of it. */
  readonly id: number;
  readonly pci: string;
  /** As `ROCR_VISIBLE_DEVICES` has it, e.g. `GPU-4b2c1a9f8d3e6f7a`; empty where it has none. */
  readonly uuid: string;
}

/** The environment that decides which GPUs a child sees, and in which order. */
export interface RocmEnvironment {
  readonly ROCR_VISIBLE_DEVICES?: string | undefined;
  readonly HIP_VISIBLE_DEVICES?: string | undefined;
  readonly CUDA_VISIBLE_DEVICES?: string | undefined;
}

const kfd = (sysDirectory: string): string => join(sysDirectory, 'class', 'kfd', 'kfd');

/**
 * The GPUs of ROCm in its order, which is that of the topology's nodes; nodes without a GPU are processors.
 * Source: the kernel's KFD topology in sysfs.
 */
export async function readKfdGpus(sysDirectory: string): Promise<readonly KfdGpu[]> {
  const root = join(kfd(sysDirectory), 'topology', 'nodes');
  const nodes = (await readdir(root).catch(() => [])).filter((name) => /^\d+$/.test(name));
  const gpus = await Promise.all(
    nodes.toSorted((a, b) => Number(a) - Number(b)).map((node) => readGpu(join(root, node))),
  );
  return gpus.filter((gpu) => gpu !== null);
}

/**
 * Those that a child sees: `ROCR_VISIBLE_DEVICES` first (indices or UUIDs), then HIP's indices among what is left.
 * Source: ROCm's "GPU isolation techniques".
 */
export function visibleKfdGpus(gpus: readonly KfdGpu[], environment: RocmEnvironment): readonly KfdGpu[] {
  const { ROCR_VISIBLE_DEVICES: rocr, HIP_VISIBLE_DEVICES: hip, CUDA_VISIBLE_DEVICES: cuda } = environment;
  return choose(choose(gpus, rocr), hip ?? cuda);
}

/** What a process holds on each GPU, by the GPU's number: ROCm's own account of it. */
export async function readKfdProcess(
  sysDirectory: string,
  pid: number,
  gpus: readonly KfdGpu[],
): Promise<ReadonlyMap<number, Bytes>> {
  const directory = join(kfd(sysDirectory), 'proc', String(pid));
  const held = await Promise.all(
    gpus.map(async ({ id }) => [id, await readNumber(join(directory, `vram_${id}`))] as const),
  );
  return new Map(held.flatMap(([id, bytes]) => (bytes === null ? [] : [[id, bytes] as const])));
}

/** The processes that compute on any of the GPUs. */
export async function readKfdPids(sysDirectory: string): Promise<readonly number[]> {
  const names = await readdir(join(kfd(sysDirectory), 'proc')).catch(() => []);
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

function choose(gpus: readonly KfdGpu[], visible: string | undefined): readonly KfdGpu[] {
  if (visible === undefined) return gpus;
  const chosen: KfdGpu[] = [];
  for (const token of visible.split(',').map((text) => text.trim().toLowerCase())) {
    const gpu = /^\d+$/.test(token)
      ? gpus[Number(token)]
      : gpus.find(({ uuid }) => uuid !== '' && uuid.toLowerCase() === token.replaceAll(/(?<=.{4})-/g, ''));
    if (gpu === undefined || chosen.includes(gpu)) break;
    chosen.push(gpu);
  }
  return chosen;
}

async function readGpu(node: string): Promise<KfdGpu | null> {
  const id = await readNumber(join(node, 'gpu_id'));
  const properties = await readText(join(node, 'properties'));
  if (id === null || id === 0 || properties === null) return null;
  const property = (name: string): bigint => BigInt(new RegExp(`^${name} (\\d+)$`, 'm').exec(properties)?.[1] ?? 0);
  const location = Number(property('location_id'));
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
  const slot = `${hex((location >> 8) & 0xff, 2)}:${hex((location >> 3) & 0x1f, 2)}.${location & 7}`;
  const unique = property('unique_id');
  return {
    id,
    pci: `${hex(Number(property('domain')), 4)}:${slot}`,
    uuid: unique === 0n ? '' : `GPU-${unique.toString(16).padStart(16, '0')}`,
  };
}
