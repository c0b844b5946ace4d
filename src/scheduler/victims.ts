import type { PassedOver, PassReason, Victim } from './decisions.js';
import { isLeaving } from './ledger.js';
import { helps, type Candidate, type Shortage } from './policies.js';
import type { Instance, Model, QueueEntry, State } from './state.js';
import type { Millis, ModelId } from './units.js';

/** Who could be asked to leave for a model, and who could not and why. */
export interface Field {
  readonly candidates: readonly Candidate[];
  /** Those who cannot leave now but may later: busy, loading, too young, or wanted by an earlier waiter. */
  readonly blockers: readonly Candidate[];
  /** Pinned ones, which never leave by a decision. */
  readonly pinned: readonly Candidate[];
  readonly passedOver: readonly PassedOver[];
}

export const NO_FIELD: Field = { candidates: [], blockers: [], pinned: [], passedOver: [] };

/** Looks at every other instance and says whether it may be a victim for the entry's model. */
export function surveyVictims(state: State, entry: QueueEntry, shortage: Shortage): Field {
  const candidates: Candidate[] = [];
  const blockers: Candidate[] = [];
  const pinned: Candidate[] = [];
  const passedOver: PassedOver[] = [];
  const wantedBefore = wantedBeforeEntry(state, entry);

  for (const id of state.modelOrder) {
    const model = state.models[id];
    if (!model?.instance || id === entry.model) continue;
    const candidate = candidateOf(state, model, model.instance);
    const reason = reasonToPass(state, entry, model, model.instance, shortage, wantedBefore);
    if (reason === null) {
      candidates.push(candidate);
      continue;
    }
    passedOver.push({ model: id, reason, requests: model.instance.leases.length });
    switch (reason) {
      case 'busy':
      case 'loading':
      case 'wanted':
      case 'too young':
        blockers.push(candidate);
        break;
      case 'pinned':
        pinned.push(candidate);
        break;
      case 'stopping':
      case 'not on this device':
      case 'not needed':
        break;
    }
  }
  return { candidates, blockers, pinned, passedOver };
}

function candidateOf(state: State, model: Model, instance: Instance): Candidate {
  return {
    model: model.spec.id,
    generation: instance.generation,
    lastUsedAt: instance.lastUsedAt,
    idleMillis: instance.leases.length > 0 ? 0 : Math.max(0, state.now - instance.lastUsedAt),
    requests: instance.leases.length,
    reloadMillis: model.loadMillis,
    priority: model.spec.priority,
    gives: instance.claim,
  };
}

/** The guards of every victim, in the order in which they are said. */
function reasonToPass(
  state: State,
  entry: QueueEntry,
  model: Model,
  instance: Instance,
  shortage: Shortage,
  wantedBefore: ReadonlySet<ModelId>,
): PassReason | null {
  if (isLeaving(instance)) return 'stopping';
  if (state.settings.policy !== 'lru-any-device' && !helps(instance.claim, shortage)) return 'not on this device';
  if (model.pinned) return 'pinned';
  if (instance.phase === 'loading') return 'loading';
  if (instance.leases.length > 0) return 'busy';
  if (wantedBefore.has(model.spec.id)) return 'wanted';
  if (isTooYoung(state, entry, instance)) return 'too young';
  return null;
}

/** A young instance is spared, but not at the cost of somebody who has waited for long. */
function isTooYoung(state: State, entry: QueueEntry, instance: Instance): boolean {
  const { minResidencyMillis, maxWaitMillis } = state.settings;
  if (minResidencyMillis === 0 || hasWaited(state, entry, maxWaitMillis)) return false;
  return state.now - (instance.readyAt ?? state.now) < minResidencyMillis;
}

/** True when the entry has waited for at least so long. */
export function hasWaited(state: State, entry: QueueEntry, millis: Millis): boolean {
  return state.now - entry.since >= millis;
}

/** Models that somebody queued for before this entry's first waiter came. */
function wantedBeforeEntry(state: State, entry: QueueEntry): ReadonlySet<ModelId> {
  const position = state.queue.findIndex((other) => other.model === entry.model);
  const before = position < 0 ? state.queue : state.queue.slice(0, position);
  return new Set(before.map((other) => other.model));
}

export function toVictim(candidate: Candidate): Victim {
  const { model, generation, idleMillis, requests, gives } = candidate;
  return { model, generation, idleMillis, ...(requests === 0 ? {} : { requests }), givesBytes: gives };
}
