import type { DeviceProcess } from '../attribute.js';
import { amdBytesOf, type AmdMemory } from './amdgpu-memory.js';
import type { DrmCard } from './cards.js';
import { readClients, type DrmClient } from './fdinfo.js';
import { intelBytesOf } from './intel-memory.js';
import type { KfdGpu } from './kfd.js';

/** What processes hold on all cards, in the two ways in which the kernel tells. */
export interface Holders {
  /** By pid: the files that it has open on any card. */
  readonly clients: readonly (readonly [number, readonly DrmClient[]])[];
  /** By pid, then by the GPU's number: bytes by ROCm's own account. */
  readonly compute: ReadonlyMap<number, ReadonlyMap<number, number>>;
}

export async function readHolders(proc: string, pids: readonly number[]): Promise<Holders['clients']> {
  return Promise.all(pids.map(async (pid) => [pid, await readClients(proc, pid)] as const));
}

/** What each process holds of a card of AMD. Both accounts may show the same memory: the larger one counts. */
export function amdProcesses(
  card: DrmCard,
  kfd: KfdGpu | null,
  kind: AmdMemory['kind'],
  { clients, compute }: Holders,
): readonly DeviceProcess[] {
  const held = heldOn(card, clients, (client) => amdBytesOf(client, kind));
  for (const [pid, byGpu] of compute) {
    const bytes = kfd === null ? undefined : byGpu.get(kfd.id);
    if (bytes !== undefined) held.set(pid, Math.max(bytes, held.get(pid) ?? 0));
  }
  return thoseThatHold(held);
}

/** What each process holds of an Intel card's own memory. */
export function intelProcesses(card: DrmCard, { clients }: Holders): readonly DeviceProcess[] {
  return thoseThatHold(heldOn(card, clients, intelBytesOf));
}

/** Null bytes: a kernel that counts no memory does not say that there is none. */
function heldOn(
  { driver, pci }: DrmCard,
  clients: Holders['clients'],
  bytesOf: (client: DrmClient) => number,
): Map<number, number | null> {
  return new Map(
    clients.map(([pid, all]) => {
      const here = all.filter((client) => client.driver === driver && client.pci === pci);
      const isTold = here.every(({ regions }) => regions.size > 0);
      return [pid, isTold ? here.reduce((sum, client) => sum + bytesOf(client), 0) : null];
    }),
  );
}

function thoseThatHold(held: ReadonlyMap<number, number | null>): readonly DeviceProcess[] {
  return [...held].filter(([, bytes]) => bytes !== 0).map(([pid, bytes]) => ({ pid, bytes }));
}
