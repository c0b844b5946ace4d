import { visibleText } from '../../components/text/clean.js';
import { sizeText } from '../../components/text/format.js';
import { shellWord } from '../../components/text/shell.js';
import { readDevices } from '../client/read-devices.js';
import type { DeviceSegment, Snapshot } from '../client/types.js';
import type { CombinedProbe } from '../devices/combined-probe.js';
import type { ForeignProcess } from '../scheduler/events.js';
import type { Bytes, DeviceName } from '../scheduler/units.js';
import type { Paths } from '../supervisor/paths.js';
import { runningSupervisor } from './running-supervisor.js';

/** In the words of those who ran out of it; see `classifyExit`. */
const WANT_OF_MEMORY = /out of memory|no memory left|memory runs out/iu;

/** Holders that are named on each device. */
const MOST_NAMED = 4;

/** True of a reason for which it matters who holds the memory. */
export function isWantOfMemory(reason: string): boolean {
  return WANT_OF_MEMORY.test(reason);
}

/**
 * Who holds the GPUs now, in one sentence, the fullest GPU first, and what to do: as the running supervisor of these
 * directories knows it, else as the probes see it. Empty where nobody holds any of them, or nobody can tell.
 */
export async function sayWhoHolds(paths: Paths, probes: Pick<CombinedProbe, 'sample'>): Promise<string> {
  const snapshot = await runningSupervisor(paths).catch(() => null);
  const held = snapshot === null ? await heldByProbes(probes) : heldBySupervisor(snapshot);
  if (held.length === 0) return '';
  const gpus = held.toSorted((a, b) => a.freeBytes - b.freeBytes).map(sayGpu);
  return visibleText(`${gpus.join('; ')}; ${advice(snapshot)}`);
}

/** A GPU that somebody holds memory of. */
interface HeldGpu {
  readonly name: DeviceName;
  readonly freeBytes: Bytes;
  readonly totalBytes: Bytes;
  /** Largest first. */
  readonly models: readonly DeviceSegment[];
  readonly foreign: readonly ForeignProcess[];
  /** All that others hold. */
  readonly externalBytes: Bytes;
}

function heldBySupervisor({ devices }: Snapshot): readonly HeldGpu[] {
  return readDevices(devices)
    .filter(({ kind, segments, externalBytes }) => kind !== 'host' && (segments.length > 0 || externalBytes > 0))
    .map((device) => ({ ...device, models: device.segments }));
}

async function heldByProbes(probes: Pick<CombinedProbe, 'sample'>): Promise<readonly HeldGpu[]> {
  const { sample } = await probes.sample([]);
  return sample.devices
    .filter(({ kind, usedBytes }) => kind !== 'host' && usedBytes > 0)
    .map(({ name, totalBytes, usedBytes, foreign = [] }) => {
      return { name, totalBytes, freeBytes: totalBytes - usedBytes, models: [], foreign, externalBytes: usedBytes };
    });
}

function sayGpu({ name, freeBytes, totalBytes, models, foreign, externalBytes }: HeldGpu): string {
  const others = largestFirst(foreign).map(
    ({ pid, name: program, bytes }) => `${program || 'a program'} (pid ${pid}) ${sizeText(bytes)}`,
  );
  const untold = foreign.length === 0 && externalBytes > 0 ? [`other programs ${sizeText(externalBytes)}`] : [];
  const holders = [
    ...largestFirst(models).map(({ model, bytes }) => `${model} ${sizeText(bytes)}`),
    ...others,
    ...untold,
  ];
  return `${name} has ${sizeText(freeBytes)} of ${sizeText(totalBytes)} free, held by ${holders.join(', ')}`;
}

function advice(snapshot: Snapshot | null): string {
  const idle = snapshot?.models.find(
    ({ generation, requests, pinned }) => generation !== null && requests === 0 && !pinned,
  );
  return idle === undefined
    ? 'end what is not needed'
    : `unload what is not needed (llm-tui unload ${shellWord(idle.id)})`;
}

function largestFirst<T extends { readonly bytes: Bytes }>(holders: readonly T[]): readonly T[] {
  return holders.toSorted((a, b) => b.bytes - a.bytes).slice(0, MOST_NAMED);
}
