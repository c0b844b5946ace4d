import { bytesOn } from './amounts.js';
import type { PassedOver, PassReason, Victim } from './decisions.js';
import { isLeaving } from './ledger.js';
import type { Instance, Model, State } from './state.js';
import type { Bytes, DeviceBytes, DeviceName, Millis, ModelId } from './units.js';

/** What is missing before a model can be loaded. */
export interface Shortage {
  /** Bytes missing on each device that is short; only positive figures. */
  readonly bytes: DeviceBytes;
  /** Instances too many, when their number is limited. */
  readonly instances: number;
}

/** An instance that may be asked to leave. */
export interface Candidate {
  readonly model: ModelId;
  readonly generation: number;
  readonly lastUsedAt: Millis;
  readonly priority: number;
  readonly gives: DeviceBytes;
}

/** Puts candidates in the order in which they should leave. Pure: a policy is a value, not a branch. */
export type Policy = (candidates: readonly Candidate[], shortage: Shortage) => readonly Candidate[];

/** Lower priority first, then least recently used, then by generation so that ties never depend on anything else. */
export const leastRecentlyUsed: Policy = (candidates) =>
  [...candidates].sort((a, b) => a.priority - b.priority || a.lastUsedAt - b.lastUsedAt || a.generation - b.generation);

export const POLICIES: Readonly<Record<State['settings']['policy'], Policy>> = { lru: leastRecentlyUsed };

export function isShort(shortage: Shortage): boolean {
  return shortage.instances > 0 || Object.keys(shortage.bytes).length > 0;
}

/** What is still missing once the given instances have left. */
export function remaining(shortage: Shortage, leaving: readonly { readonly gives: DeviceBytes }[]): Shortage {
  const bytes: Record<DeviceName, Bytes> = {};
  for (const [device, missing] of Object.entries(shortage.bytes)) {
    const left = leaving.reduce((sum, candidate) => sum - bytesOn(candidate.gives, device), missing);
    if (left > 0) bytes[device] = left;
  }
  return { bytes, instances: Math.max(0, shortage.instances - leaving.length) };
}

/**
 * Who has to leave so that nothing is short any more, in policy order; null when even all of them are not enough.
 * A second pass gives back, most recently used first, whoever turned out not to be needed.
 */
export function planEviction(
  candidates: readonly Candidate[],
  shortage: Shortage,
  policy: Policy,
): readonly Candidate[] | null {
  const plan: Candidate[] = [];
  let missing = shortage;
  for (const candidate of policy(candidates, shortage)) {
    if (!isShort(missing)) break;
    if (!helps(candidate, missing)) continue;
    plan.push(candidate);
    missing = remaining(shortage, plan);
  }
  if (isShort(missing)) return null;

  for (const candidate of [...plan].reverse()) {
    const without = plan.filter((other) => other !== candidate);
    if (!isShort(remaining(shortage, without))) plan.splice(plan.indexOf(candidate), 1);
  }
  return plan;
}

/** True when its leaving brings back bytes where they are missing, or a place where places are missing. */
function helps(candidate: Candidate, missing: Shortage): boolean {
  if (missing.instances > 0) return true;
  return Object.keys(missing.bytes).some((device) => bytesOn(candidate.gives, device) > 0);
}

/** Who could be asked to leave for a model, and who could not and why. */
export interface Field {
  readonly candidates: readonly Candidate[];
  /** Those who cannot leave now but may later: busy or loading. */
  readonly blockers: readonly Candidate[];
  /** Pinned ones, which never leave by a decision. */
  readonly pinned: readonly Candidate[];
  readonly passedOver: readonly PassedOver[];
}

/** Looks at every other instance and says whether it may be a victim for `forModel`. */
export function surveyVictims(state: State, forModel: ModelId, shortage: Shortage): Field {
  const candidates: Candidate[] = [];
  const blockers: Candidate[] = [];
  const pinned: Candidate[] = [];
  const passedOver: PassedOver[] = [];
  const wantedBefore = wantedBeforeModel(state, forModel);

  for (const id of state.modelOrder) {
    const model = state.models[id];
    if (!model?.instance || id === forModel) continue;
    const candidate = candidateOf(model, model.instance);
    const reason = reasonToPass(model, model.instance, candidate, shortage, wantedBefore);
    if (reason === null) {
      candidates.push(candidate);
      continue;
    }
    passedOver.push({ model: id, reason, requests: model.instance.leases.length });
    if (reason === 'busy' || reason === 'loading' || reason === 'wanted') blockers.push(candidate);
    if (reason === 'pinned') pinned.push(candidate);
  }
  return { candidates, blockers, pinned, passedOver };
}

function candidateOf(model: Model, instance: Instance): Candidate {
  return {
    model: model.spec.id,
    generation: instance.generation,
    lastUsedAt: instance.lastUsedAt,
    priority: model.spec.priority,
    gives: instance.claim,
  };
}

function reasonToPass(
  model: Model,
  instance: Instance,
  candidate: Candidate,
  shortage: Shortage,
  wantedBefore: ReadonlySet<ModelId>,
): PassReason | null {
  if (isLeaving(instance)) return 'stopping';
  if (!helps(candidate, shortage)) return 'not on this device';
  if (model.pinned) return 'pinned';
  if (instance.phase === 'loading') return 'loading';
  if (instance.leases.length > 0) return 'busy';
  if (wantedBefore.has(model.spec.id)) return 'wanted';
  return null;
}

/** Models that somebody queued for before `model`'s first waiter came. */
function wantedBeforeModel(state: State, model: ModelId): ReadonlySet<ModelId> {
  const position = state.queue.findIndex((entry) => entry.model === model);
  const before = position < 0 ? state.queue : state.queue.slice(0, position);
  return new Set(before.map((entry) => entry.model));
}

export function toVictim(candidate: Candidate, now: Millis): Victim {
  return {
    model: candidate.model,
    generation: candidate.generation,
    idleMillis: Math.max(0, now - candidate.lastUsedAt),
    givesBytes: candidate.gives,
  };
}
