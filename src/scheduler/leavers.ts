import { isLeaving } from './ledger.js';
import { helps, type Shortage } from './policies.js';
import { isOfInstance } from './releases.js';
import { runningOf } from './running.js';
import type { State } from './state.js';
import type { ModelId } from './units.js';

/** Something on the way out, which gives back what is short. */
export interface Leaver {
  readonly model: ModelId;
  /** An instance; the memory of one that has ended; or that of a child that has measured. */
  readonly what: 'instance' | 'memory' | 'measuring';
  /** In flight, which end before it leaves. */
  readonly requests: number;
}

/** All that is on the way out and gives back something of what is short, as it stands now. */
export function leaversFor(state: State, shortage: Shortage): readonly Leaver[] {
  const instances = runningOf(state)
    .filter(([, instance]) => isLeaving(instance) && helps(instance.claim, shortage))
    .map(([model, { leases }]): Leaver => ({ model, what: 'instance', requests: leases.length }));
  // A child that has measured takes no place.
  const ofMeasuring = { ...shortage, instances: 0 };
  const ended = state.releases
    .filter((release) => helps(release.held, isOfInstance(release) ? shortage : ofMeasuring))
    .map((release): Leaver => {
      return { model: release.model, what: isOfInstance(release) ? 'memory' : 'measuring', requests: 0 };
    });
  return [...instances, ...ended];
}
