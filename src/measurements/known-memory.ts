import type { KnownMemory, Placement } from '../scheduler/state.js';
import { measuredPlacements } from './placements.js';
import type { Remembered } from './store.js';

/** What the scheduler is told of what earlier runs have left; null where they left nothing. */
export function knownMemory(remembered: Remembered, estimates: readonly Placement[]): KnownMemory | null {
  const { tables, observed, loadMillis } = remembered;
  if (tables === null && observed === null && loadMillis === null) return null;
  const measured = tables === null ? [] : measuredPlacements(tables.min, estimates);
  return { measured: measured.length === 0 ? null : measured, observed, loadMillis };
}
