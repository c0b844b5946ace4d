import { join } from 'node:path';
import type { DeviceName } from '../../scheduler/units.js';
import { Attribution, type DriverReading } from '../attribute.js';
import { readHostMemory } from '../host-memory.js';
import type { DeviceActivity, DeviceProbe } from '../probe.js';
import { CardActivity } from './activity.js';
import { readAmdMemory, readAmdTotal } from './amdgpu-memory.js';
import { isAsleep, readText, type DrmCard } from './cards.js';
import { findCards, type NamedCard } from './find-cards.js';
import { GpuUsers } from './gpu-users.js';
import { readIntelTotal, readIntelUsed } from './intel-memory.js';
import { readKfdPids, readKfdProcess, type KfdGpu, type RocmEnvironment } from './kfd.js';
import { amdProcesses, intelProcesses, readHolders, type Holders } from './holders.js';

export interface DrmProbeOptions {
  /** Where `sys` and `proc` are; default `/`. */
  readonly root?: string;
  /** As the children have it; default: as this process has it. */
  readonly environment?: RocmEnvironment;
  /** Bytes of system memory that can be had; by default asked from the system. */
  readonly availableBytes?: () => Promise<number>;
}

/** What is remembered of a card, to be said of it while it sleeps. */
type Kept = Omit<DriverReading, 'usedBytes' | 'processes'>;

/** A string is what the card does not say. */
type Figures = Omit<DriverReading, 'source'> | string;
type Read = { readonly reading: DriverReading; readonly activity: DeviceActivity | null } | string;

const NO_SIZE = 'how much memory it has';
const SHARES_SYSTEM_MEMORY = 'shares system memory: its own part and what it may borrow';
const OTHERS_UNSEEN = 'the driver tells no total of what is in use: what other users’ programs hold here is not seen';

/**
 * GPUs of AMD and Intel by what their kernel drivers show in /sys and of processes. Those of AMD are named `ROCm0`,
 * `ROCm1`, … in ROCm's order, or where there is no ROCm `AMD0`, …; those of Intel `Intel0`, …; both by bus address:
 * another backend's names cannot be told from here. A card that sleeps is not woken.
 * Of other processes only those are known that use ROCm, or hold memory of an Intel GPU and may be looked at.
 * Intel's drivers do not always show the size of a card's memory; such cards are only spoken of in `notes`.
 */
export function createDrmProbe(options: DrmProbeOptions = {}): DeviceProbe {
  const { root = '/', environment = process.env } = options;
  const [sys, proc] = [join(root, 'sys'), join(root, 'proc')];
  const availableBytes = options.availableBytes ?? (async () => (await readHostMemory()).availableBytes);
  // The pids of /proc and of KFD are those that we see.
  const attribution = new Attribution(true);
  const users = new GpuUsers(proc);
  const activities = new CardActivity();
  const kept = new Map<DeviceName, Kept>();
  let found: ReturnType<typeof findCards> | undefined;
  let notes: readonly string[] = [];

  const readAmd = async ({ name, card, kfd }: NamedCard, holders: Holders): Promise<Figures> => {
    const memory = await readAmdMemory(card, availableBytes);
    if (memory === null) return NO_SIZE;
    return {
      name,
      description: await describe('amd', card),
      ...memory,
      processes: amdProcesses(card, kfd, memory.kind, holders),
      ...(memory.kind === 'unified' ? { remark: SHARES_SYSTEM_MEMORY } : {}),
    };
  };
  const readIntel = async ({ name, card }: NamedCard, holders: Holders): Promise<Figures> => {
    const totalBytes = await readIntelTotal(card);
    if (totalBytes === null) return NO_SIZE;
    const usedBytes = await readIntelUsed(card, totalBytes);
    const processes = intelProcesses(card, holders);
    const isTold = processes.every(({ bytes }) => bytes !== null);
    if (usedBytes === null && !isTold) return 'what is in use';
    const held = processes.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
    return {
      ...{ name, kind: 'discrete', description: await describe('intel', card), totalBytes },
      usedBytes: Math.min(totalBytes, usedBytes ?? held),
      processes,
      ...(usedBytes === null ? { remark: OTHERS_UNSEEN } : {}),
    };
  };
  const read = async (one: NamedCard, holders: Holders): Promise<Read> => {
    const asleep = await isAsleep(one.card);
    const before = kept.get(one.name);
    if (asleep && before !== undefined) return { reading: { ...before, usedBytes: 0, processes: [] }, activity: null };
    const readAwake = one.maker === 'amd' ? readAmd : readIntel;
    const reading = await (asleep ? readAsleep(one) : readAwake(one, holders));
    if (typeof reading === 'string') return reading;
    const whole = { ...reading, source: one.card.driver };
    const { usedBytes: _, processes: __, ...keep } = whole;
    kept.set(one.name, keep);
    return { reading: whole, activity: asleep ? null : await activities.read(one.card) };
  };

  return {
    name: 'drm',
    capabilities: { total: true, used: true, perProcess: true, names: true },
    get notes() {
      return notes;
    },
    async sample(trees) {
      found ??= findCards(sys, environment);
      const { named, notes: about } = await found;
      notes = about;
      if (named.length === 0) return { devices: [], instances: [] };
      const strangers = named.some(({ maker }) => maker === 'intel') ? await users.pids() : [];
      const pids = [...new Set([...trees.flatMap((tree) => tree.pids), ...strangers])];
      const compute = await readCompute(
        sys,
        named.flatMap(({ kfd }) => kfd ?? []),
      );
      const holders = { clients: await readHolders(proc, pids), compute };
      const results = await Promise.all(named.map(async (one) => ({ one, result: await read(one, holders) })));
      const seen = results.flatMap(({ one, result }) =>
        typeof result === 'string' ? [] : [{ name: one.name, ...result }],
      );
      const failures = results.flatMap(({ one: { name, card }, result }) => {
        if (typeof result !== 'string') return [];
        return [{ devices: [name], message: `${card.driver}: ${card.pci} does not say ${result}`, lasting: true }];
      });
      const readings = seen.map(({ reading }) => reading);
      const busy = seen.flatMap(({ name, activity }) => (activity === null ? [] : [[name, activity] as const]));
      return {
        ...(await attribution.attribute(readings, trees)),
        ...(failures.length === 0 ? {} : { failures }),
        ...(busy.length === 0 ? {} : { activity: Object.fromEntries(busy) }),
      };
    },
    close: () => undefined,
  };
}

/** Its size, which can be had without waking it. Nobody has it open, so nothing of it is used. */
async function readAsleep({ name, maker, card }: NamedCard): Promise<Figures> {
  const totalBytes = await (maker === 'amd' ? readAmdTotal : readIntelTotal)(card);
  if (totalBytes === null) return NO_SIZE;
  return { name, kind: 'discrete', description: await describe(maker, card), totalBytes, usedBytes: 0, processes: [] };
}

async function describe(maker: NamedCard['maker'], card: DrmCard): Promise<string> {
  if (maker === 'intel') return `Intel GPU ${card.pciId}`;
  const product = (await readText(join(card.directory, 'product_name')))?.trim() ?? '';
  return product === '' ? `AMD GPU ${card.pciId}` : product;
}

async function readCompute(
  sys: string,
  gpus: readonly KfdGpu[],
): Promise<ReadonlyMap<number, ReadonlyMap<number, number>>> {
  const pids = gpus.length === 0 ? [] : await readKfdPids(sys);
  return new Map(await Promise.all(pids.map(async (pid) => [pid, await readKfdProcess(sys, pid, gpus)] as const)));
}
