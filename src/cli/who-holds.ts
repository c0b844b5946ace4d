import { cleanText } from '../../components/text/clean.js';
import { sizeText } from '../../components/text/format.js';
import { readDevices } from '../client/read-devices.js';
import type { DeviceSegment, Snapshot } from '../client/types.js';
import type { CombinedProbe } from '../devices/combined-probe.js';
import type { ForeignProcess } from '../scheduler/events.js';
import type { Bytes } from '../scheduler/units.js';
import type { Paths } from '../supervisor/paths.js';
import { runningSupervisor } from './background.js';

/** In the words of those who ran out of it; see `classifyExit`. */
const WANT_OF_MEMORY = /out of memory|no memory left|memory runs out/iu;

/** Holders that are named on each device. */
const MOST_NAMED = 4;

/** True of a reason for which it matters who holds the memory. */
export function isWantOfMemory(reason: string): boolean {
  return WANT_OF_MEMORY.test(reason);
}

/**
 * Who holds the GPUs now, in one sentence, and what to do: as the running supervisor of these directories knows it, else as
 * the probes see it. Empty where nobody holds any of them, or nobody can tell.
 */
export async function sayWhoHolds(paths: Paths, probes: Pick<CombinedProbe, 'sample'>): Promise<string> {
  const snapshot = await runningSupervisor(paths).catch(() => null);
  const held = snapshot === null ? [] : heldByModels(snapshot);
  if (snapshot !== null && held.length > 0) {
    const idle = snapshot.models.find(
      ({ generation, requests, pinned }) => generation !== null && requests === 0 && !pinned,
    );
    const unload = idle === undefined ? '' : ` (llm-tui unload ${cleanText(idle.id)})`;
    return `${held.join('; ')}; unload what is not needed${unload}`;
  }
  const seen = await seenByProbes(probes);
  return seen.length === 0 ? '' : `${seen.join('; ')}; end what is not needed`;
}

function heldByModels({ devices }: Snapshot): readonly string[] {
  return readDevices(devices).flatMap(({ name, kind, segments, externalBytes, freeBytes, totalBytes }) => {
    if (kind === 'host' || segments.length === 0) return [];
    const ours = largestFirst(segments).map(({ model, bytes }: DeviceSegment) => `${model} ${sizeText(bytes)}`);
    const others = externalBytes > 0 ? [`other programs ${sizeText(externalBytes)}`] : [];
    return [sayDevice(name, freeBytes, totalBytes, [...ours, ...others])];
  });
}

async function seenByProbes(probes: Pick<CombinedProbe, 'sample'>): Promise<readonly string[]> {
  const { sample } = await probes.sample([]);
  return sample.devices.flatMap(({ name, kind, usedBytes, totalBytes, foreign = [] }) => {
    if (kind === 'host' || usedBytes === 0) return [];
    const processes = largestFirst(foreign).map(
      ({ pid, name: program, bytes }: ForeignProcess) => `${program || 'a program'} (pid ${pid}) ${sizeText(bytes)}`,
    );
    return [sayDevice(name, totalBytes - usedBytes, totalBytes, processes)];
  });
}

function sayDevice(name: string, freeBytes: Bytes, totalBytes: Bytes, holders: readonly string[]): string {
  const who = holders.length === 0 ? 'who holds the rest is not told' : `held by ${holders.join(', ')}`;
  return cleanText(`${name} has ${sizeText(freeBytes)} of ${sizeText(totalBytes)} free, ${who}`);
}

function largestFirst<T extends { readonly bytes: Bytes }>(holders: readonly T[]): readonly T[] {
  return holders.toSorted((a, b) => b.bytes - a.bytes).slice(0, MOST_NAMED);
}
