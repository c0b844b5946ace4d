import type { ChildMemory } from '../engines/messages.js';
import type { KnownMemory, Placement } from '../scheduler/state.js';
import type { Remembered } from './store.js';

/**
 * What the scheduler is told of what earlier runs have left; null where they left nothing.
 * @param placementsOf the ways to lay a model out, from what it was measured to need
 */
export function knownMemory(
  remembered: Remembered,
  placementsOf: (table: ChildMemory) => readonly Placement[],
): KnownMemory | null {
  const { tables, observed, rested, loadMillis } = remembered;
  if (tables === null && observed === null && loadMillis === null) return null;
  const measured = tables === null ? [] : placementsOf(tables.min);
  return {
    measured: measured.length === 0 ? null : measured,
    observed,
    ...(rested === undefined ? {} : { rested }),
    loadMillis,
  };
}
