import { join } from 'node:path';
import type { DeviceName } from '../../scheduler/units.js';
import { Attribution, type DeviceProcess, type DriverReading } from '../attribute.js';
import { readHostMemory } from '../host-memory.js';
import type { DeviceProbe, ProcessTree } from '../probe.js';
import { amdBytesOf, readAmdMemory, type AmdMemory } from './amdgpu-memory.js';
import { isAsleep, readCards, readText, type DrmCard } from './cards.js';
import { readClients, type DrmClient } from './fdinfo.js';
import { readKfdGpus, readKfdPids, readKfdProcess, visibleKfdGpus, type KfdGpu, type RocmEnvironment } from './kfd.js';

export interface DrmProbeOptions {
  /** Where `sys` and `proc` are; default `/`. */
  readonly root?: string;
  /** As the children have it; default: as this process has it. */
  readonly environment?: RocmEnvironment;
  /** Bytes of system memory that can be had; by default asked from the system. */
  readonly availableBytes?: () => Promise<number>;
}

interface Named {
  readonly name: DeviceName;
  readonly card: DrmCard;
  readonly kfd: KfdGpu | null;
}

/** What is remembered of a card, to be said of it while it sleeps. */
type Kept = Omit<DriverReading, 'usedBytes' | 'processes'>;

const INTEL = new Set(['i915', 'xe']);

/**
 * AMD GPUs by what their kernel driver shows in /sys, named `ROCm0`, `ROCm1`, … in ROCm's order, or where there is no
 * ROCm `AMD0`, … by bus address: another backend's names cannot be told from here. A card that sleeps is not woken.
 * Of other processes only those are known that use ROCm; they count as used, whoever they are.
 * Intel's drivers show no size of a card's memory; such cards are only spoken of in `notes`.
 */
export function createDrmProbe(options: DrmProbeOptions = {}): DeviceProbe {
  const { root = '/', environment = process.env } = options;
  const [sys, proc] = [join(root, 'sys'), join(root, 'proc')];
  const availableBytes = options.availableBytes ?? (async () => (await readHostMemory()).availableBytes);
  // The pids of /proc and of KFD are those that we see.
  const attribution = new Attribution(true);
  const kept = new Map<DeviceName, Kept>();
  let found: Promise<{ readonly named: readonly Named[]; readonly notes: readonly string[] }> | undefined;
  let notes: readonly string[] = [];

  const read = async (
    { name, card, kfd }: Named,
    clients: readonly (readonly [number, readonly DrmClient[]])[],
    compute: ReadonlyMap<number, ReadonlyMap<number, number>>,
  ): Promise<DriverReading | string> => {
    const before = kept.get(name);
    if (before !== undefined && (await isAsleep(card))) return { ...before, usedBytes: 0, processes: [] };
    const memory = await readAmdMemory(card, availableBytes);
    if (memory === null) return `amdgpu: ${card.pci} does not say how much memory it has`;
    const description = (await readText(join(card.directory, 'product_name')))?.trim() ?? '';
    const keep: Kept = {
      name,
      kind: memory.kind,
      description: description === '' ? `AMD GPU ${card.pciId}` : description,
      totalBytes: memory.totalBytes,
      source: 'amdgpu',
      ...(memory.kind === 'unified' ? { remark: 'shares system memory: its own part and what it may borrow' } : {}),
    };
    kept.set(name, keep);
    return { ...keep, usedBytes: memory.usedBytes, processes: processesOn(card, kfd, memory.kind, clients, compute) };
  };

  return {
    name: 'amdgpu',
    capabilities: { total: true, used: true, perProcess: true, names: true },
    get notes() {
      return notes;
    },
    async sample(trees) {
      found ??= findCards(sys, environment);
      const { named, notes: about } = await found;
      notes = about;
      if (named.length === 0) return { devices: [], instances: [] };
      const gpus = named.flatMap(({ kfd }) => kfd ?? []);
      const [clients, compute] = await Promise.all([readTrees(proc, trees), readCompute(sys, gpus)]);
      const results = await Promise.all(
        named.map(async (one) => ({ name: one.name, result: await read(one, clients, compute) })),
      );
      const readings = results.flatMap(({ result }) => (typeof result === 'string' ? [] : [result]));
      const failures = results.flatMap(({ name, result }) =>
        typeof result === 'string' ? [{ devices: [name], message: result, lasting: true }] : [],
      );
      const sample = await attribution.attribute(readings, trees);
      return { ...sample, ...(failures.length === 0 ? {} : { failures }) };
    },
    close: () => undefined,
  };
}

/** Which cards there are, and what they are called; asked once, since names must not move while children run. */
async function findCards(
  sys: string,
  environment: RocmEnvironment,
): Promise<{ readonly named: readonly Named[]; readonly notes: readonly string[] }> {
  const [cards, kfd] = await Promise.all([readCards(sys), readKfdGpus(sys)]);
  const amd = cards.filter(({ driver }) => driver === 'amdgpu');
  const visible = visibleKfdGpus(kfd, environment).flatMap((gpu, index): Named[] => {
    const card = amd.find(({ pci }) => pci === gpu.pci);
    return card === undefined ? [] : [{ name: `ROCm${index}`, card, kfd: gpu }];
  });
  const named = kfd.length > 0 ? visible : amd.map((card, index) => ({ name: `AMD${index}`, card, kfd: null }));
  const notes = cards
    .filter(({ driver }) => INTEL.has(driver))
    .map(
      ({ driver, pci }) =>
        `The Intel GPU at ${pci} does not say how much memory it has (${driver}); what is known of it is what models report.`,
    );
  return { named, notes };
}

async function readTrees(
  proc: string,
  trees: readonly ProcessTree[],
): Promise<readonly (readonly [number, readonly DrmClient[]])[]> {
  const pids = [...new Set(trees.flatMap((tree) => tree.pids))];
  return Promise.all(pids.map(async (pid) => [pid, await readClients(proc, pid)] as const));
}

async function readCompute(
  sys: string,
  gpus: readonly KfdGpu[],
): Promise<ReadonlyMap<number, ReadonlyMap<number, number>>> {
  const pids = gpus.length === 0 ? [] : await readKfdPids(sys);
  return new Map(await Promise.all(pids.map(async (pid) => [pid, await readKfdProcess(sys, pid, gpus)] as const)));
}

/** Both accounts may show the same memory: the larger one counts. */
function processesOn(
  card: DrmCard,
  kfd: KfdGpu | null,
  kind: AmdMemory['kind'],
  clients: readonly (readonly [number, readonly DrmClient[]])[],
  compute: ReadonlyMap<number, ReadonlyMap<number, number>>,
): readonly DeviceProcess[] {
  const held = new Map<number, number | null>();
  for (const [pid, own] of clients) {
    const here = own.filter(({ driver, pci }) => driver === 'amdgpu' && pci === card.pci);
    // A kernel that counts no memory does not say that there is none.
    const isTold = here.every(({ regions }) => regions.size > 0);
    held.set(pid, isTold ? here.reduce((sum, client) => sum + amdBytesOf(client, kind), 0) : null);
  }
  for (const [pid, byGpu] of compute) {
    const bytes = kfd === null ? undefined : byGpu.get(kfd.id);
    if (bytes !== undefined) held.set(pid, Math.max(bytes, held.get(pid) ?? 0));
  }
  return [...held].filter(([, bytes]) => bytes !== 0).map(([pid, bytes]) => ({ pid, bytes }));
}
