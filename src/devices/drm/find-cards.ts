import type { DeviceName } from '../../scheduler/units.js';
import { readCards, type DrmCard } from './cards.js';
import { readIntelTotal } from './intel-memory.js';
import { readKfdGpus, visibleKfdGpus, type KfdGpu, type RocmEnvironment } from './kfd.js';

export interface NamedCard {
  readonly name: DeviceName;
  readonly maker: 'amd' | 'intel';
  readonly card: DrmCard;
  readonly kfd: KfdGpu | null;
}

const INTEL = new Set(['i915', 'xe']);

/** Which cards there are, and what they are called; asked once, since names must not move while children run. */
export async function findCards(
  sys: string,
  environment: RocmEnvironment,
): Promise<{ readonly named: readonly NamedCard[]; readonly notes: readonly string[] }> {
  const cards = await readCards(sys);
  const intel = await Promise.all(
    cards
      .filter(({ driver }) => INTEL.has(driver))
      .map(async (card) => ({ card, isSized: (await readIntelTotal(card)) !== null })),
  );
  const sized = intel.filter(({ isSized }) => isSized);
  const notes = intel.flatMap(({ card: { pci, driver }, isSized }) => (isSized ? [] : [unsized(pci, driver)]));
  return {
    named: [
      ...(await findAmd(sys, cards, environment)),
      ...sized.map(({ card }, index): NamedCard => ({ name: `Intel${index}`, maker: 'intel', card, kfd: null })),
    ],
    notes,
  };
}

async function findAmd(
  sys: string,
  cards: readonly DrmCard[],
  environment: RocmEnvironment,
): Promise<readonly NamedCard[]> {
  const amd = cards.filter(({ driver }) => driver === 'amdgpu');
  const kfd = await readKfdGpus(sys);
  if (kfd.length === 0) return amd.map((card, index) => ({ name: `AMD${index}`, maker: 'amd', card, kfd: null }));
  return visibleKfdGpus(kfd, environment).flatMap((gpu, index): NamedCard[] => {
    const card = amd.find(({ pci }) => pci === gpu.pci);
    return card === undefined ? [] : [{ name: `ROCm${index}`, maker: 'amd', card, kfd: gpu }];
  });
}

function unsized(pci: string, driver: string): string {
  return `The Intel GPU at ${pci} does not say how much memory it has (${driver}): its total is unknown, and what is known of it is what models report.`;
}
