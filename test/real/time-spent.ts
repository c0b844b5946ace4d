import type { Decision, Millis } from '../../src/client/types.js';

/** What a swap goes through, told from the decisions: from one kind of record of a model to the next. */
interface Swap {
  /** Until the victim's exit was seen. */
  readonly leaving: Millis;
  /** From there until its memory was seen to be back. */
  readonly release: Millis;
  /** From the load's admission until the child said that it was ready. */
  readonly load: Millis;
}

/** Where the time of an average swap goes; nothing where there was none. */
export function sayWhereTimeGoes(decisions: readonly Decision[]): readonly string[] {
  const swaps = swapsOf(decisions);
  if (swaps.length === 0) return [];
  const mean = (part: keyof Swap): string =>
    (swaps.reduce((sum, swap) => sum + swap[part], 0) / swaps.length).toFixed(0);
  return [
    `a swap on average: ${mean('leaving')} ms until the victim has gone, ${mean('release')} ms until its memory is seen ` +
      `to be back, ${mean('load')} ms to load (${swaps.length} swaps)`,
  ];
}

function swapsOf(decisions: readonly Decision[]): readonly Swap[] {
  return decisions.flatMap((evict, index) => {
    if (evict.kind !== 'evict') return [];
    const later = decisions.slice(index + 1);
    const next = (kind: Decision['kind'], model: string): Decision | undefined =>
      later.find((decision) => decision.kind === kind && decision.model === model);
    const exit = next('exit', evict.model);
    const release = next('release', evict.model);
    const ready = evict.forModel === null ? undefined : next('ready', evict.forModel);
    const admit = evict.forModel === null ? undefined : next('admit', evict.forModel);
    if (exit === undefined || release === undefined || admit === undefined || ready === undefined) return [];
    return [{ leaving: exit.at - evict.at, release: release.at - exit.at, load: ready.at - admit.at }];
  });
}
