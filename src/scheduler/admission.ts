import { bytesOn, sumOf } from './amounts.js';
import {
  isShort,
  planEviction,
  POLICIES,
  remaining,
  surveyVictims,
  type Candidate,
  type Field,
  type Shortage,
} from './eviction.js';
import { availableBytes, claimFor, isLeaving, ledgerOf, limitsLoads, type Ledger } from './ledger.js';
import type { ClaimQuality, Instance, Model, Placement, State } from './state.js';
import { HOST, type Bytes, type DeviceBytes, type DeviceName, type ModelId } from './units.js';

/** A placement with what would be counted for it. */
export interface Layout {
  readonly claim: DeviceBytes;
  readonly claimQuality: ClaimQuality;
  /** Null when there is only one way to lay the model out: its own options say where it goes. */
  readonly devices: readonly DeviceName[] | null;
  /** True when it cannot fit whole even alone, and is left to size itself. */
  readonly squeezed: boolean;
}

/** What can be done for a model that wants to run; everything needed to explain it comes along. */
export type Verdict = {
  readonly layout: Layout;
  readonly shortage: Shortage;
  readonly field: Field;
} & (
  | { readonly kind: 'admit' }
  | { readonly kind: 'evict'; readonly victims: readonly Candidate[] }
  /** Enough is already leaving. */
  | { readonly kind: 'wait-leaving' }
  /** Another load that sizes itself to the free memory is under way on the same device. */
  | { readonly kind: 'wait-sizing'; readonly other: ModelId; readonly device: DeviceName }
  /** Nobody may be asked to leave now, but these would do once they are done. */
  | { readonly kind: 'wait-busy'; readonly blockers: readonly Candidate[] }
  /** Room that is set aside for the head of the queue is not taken. */
  | { readonly kind: 'wait-turn' }
  | { readonly kind: 'refuse-pinned'; readonly pinned: readonly Candidate[] }
  | { readonly kind: 'refuse-too-large' }
);

/** Better ones first; the first placement wins among equals. */
const RANK: Readonly<Record<Verdict['kind'], number>> = {
  admit: 0,
  'wait-leaving': 1,
  evict: 2,
  'wait-sizing': 3,
  'wait-busy': 4,
  'wait-turn': 5,
  'refuse-pinned': 6,
  'refuse-too-large': 7,
};

/** Room that nobody but the head of the queue may take. */
export interface SetAside {
  readonly bytes: DeviceBytes;
  readonly instances: number;
}

export const NOTHING_SET_ASIDE: SetAside = { bytes: {}, instances: 0 };

/**
 * One look at whether and how a model can be brought up. The count of instances and the memory of every device are
 * judged together. `mayEvict` is false for entries behind the head, which go first only if nobody has to leave.
 */
export function judge(state: State, ledger: Ledger, model: Model, setAside: SetAside, mayEvict: boolean): Verdict {
  const layouts = model.spec.placements.map((placement) => layoutOf(state, model, placement));
  const verdicts = layouts.map((layout) => judgeLayout(state, ledger, model, layout, setAside, mayEvict));
  return verdicts.reduce((best, verdict) => (isBetter(verdict, best) ? verdict : best));
}

function isBetter(a: Verdict, b: Verdict): boolean {
  if (a.kind === 'evict' && b.kind === 'evict') return evictedBytes(a.victims) < evictedBytes(b.victims);
  return RANK[a.kind] < RANK[b.kind];
}

function evictedBytes(victims: readonly Candidate[]): Bytes {
  return victims.reduce((sum, victim) => sum + sumOf(victim.gives), 0);
}

function layoutOf(state: State, model: Model, placement: Placement): Layout {
  const { claim, claimQuality } = claimFor(model, placement);
  const devices = model.spec.placements.length > 1 ? Object.keys(placement.need).filter((name) => name !== HOST) : null;
  if (!model.spec.fits) return { claim, claimQuality, devices, squeezed: false };

  const capped: Record<DeviceName, Bytes> = {};
  for (const [name, bytes] of Object.entries(claim)) capped[name] = Math.min(bytes, roomWhenAlone(state, name));
  return { claim: capped, claimQuality, devices, squeezed: Object.keys(claim).some((d) => capped[d] !== claim[d]) };
}

/** What one model could have on a device if nothing else of ours were there. */
function roomWhenAlone(state: State, name: DeviceName): Bytes {
  const device = state.devices[name];
  if (device === undefined || !limitsLoads(device)) return Number.MAX_SAFE_INTEGER;
  return Math.max(0, device.totalBytes - device.externalBytes - device.marginBytes);
}

/*
 * 1. It fits, and nobody else is sizing itself on the same device: admit.
 * 2. It fits once those who are leaving have left: wait for them, ask nobody else.
 * 3. It could never fit, even alone: too large.
 * 4. Somebody may be asked to leave, and that is enough: evict.
 * 5. It would be enough once busy or loading ones are done: wait for them.
 * 6. Pinned ones are in the way.
 */
function judgeLayout(
  state: State,
  ledger: Ledger,
  model: Model,
  layout: Layout,
  setAside: SetAside,
  mayEvict: boolean,
): Verdict {
  const now = shortageOf(state, ledger, layout.claim, setAside);
  const afterLeaving = withoutLeaving(state, ledger, layout.claim, setAside);
  const field = surveyVictims(state, model.spec.id, afterLeaving);
  const base = { layout, shortage: now, field };

  if (!isShort(now)) {
    const sizing = otherSizing(state, model, layout);
    return sizing === null ? { ...base, kind: 'admit' } : { ...base, kind: 'wait-sizing', ...sizing };
  }
  if (!mayEvict) return { ...base, kind: 'wait-turn' };
  if (!isShort(afterLeaving)) return { ...base, kind: 'wait-leaving' };
  if (isTooLarge(state, layout.claim)) return { ...base, kind: 'refuse-too-large' };

  const policy = POLICIES[state.settings.policy];
  const victims = planEviction(field.candidates, afterLeaving, policy);
  if (victims !== null) return { ...base, shortage: afterLeaving, kind: 'evict', victims };

  const withBlockers = planEviction([...field.candidates, ...field.blockers], afterLeaving, policy);
  if (withBlockers !== null) {
    const blockers = withBlockers.filter((candidate) => field.blockers.includes(candidate));
    return { ...base, shortage: afterLeaving, kind: 'wait-busy', blockers };
  }
  return { ...base, shortage: afterLeaving, kind: 'refuse-pinned', pinned: field.pinned };
}

/** What is missing right now for this claim. */
export function shortageOf(state: State, ledger: Ledger, claim: DeviceBytes, setAside: SetAside): Shortage {
  const bytes: Record<DeviceName, Bytes> = {};
  for (const [name, need] of Object.entries(claim)) {
    const account = ledger[name];
    // A device that nobody has reported yet limits nothing.
    if (account === undefined || need === 0 || !limitsLoads(account.device)) continue;
    const missing = need - (availableBytes(account) - bytesOn(setAside.bytes, name));
    if (missing > 0) bytes[name] = missing;
  }
  const { modelsMax } = state.settings;
  const over = modelsMax > 0 ? runningInstances(state) + setAside.instances + 1 - modelsMax : 0;
  return { bytes, instances: Math.max(0, over) };
}

/** What will still be missing once everybody who is on the way out has gone and given back what it holds. */
function withoutLeaving(state: State, ledger: Ledger, claim: DeviceBytes, setAside: SetAside): Shortage {
  const shortage = shortageOf(state, ledger, claim, setAside);
  const leaving = Object.fromEntries(Object.entries(ledger).map(([name, account]) => [name, account.leavingBytes]));
  const { bytes } = remaining({ bytes: shortage.bytes, instances: 0 }, [{ gives: leaving }]);
  return { bytes, instances: Math.max(0, shortage.instances - leavingInstances(state)) };
}

function isTooLarge(state: State, claim: DeviceBytes): boolean {
  return Object.entries(claim).some(([name, need]) => need > roomWhenAlone(state, name));
}

/** Instances that count against `--models-max`: running, stopping, and those whose memory is not back yet. */
export function runningInstances(state: State): number {
  return liveInstances(state).length + state.releases.length;
}

function leavingInstances(state: State): number {
  return liveInstances(state).filter(isLeaving).length + state.releases.length;
}

function liveInstances(state: State): readonly Instance[] {
  return Object.values(state.models).flatMap((model) => model.instance ?? []);
}

/**
 * Two children whose context is not pinned would both size themselves to the same free memory, so only one such load
 * may be in flight on a device. The host is no such device: nothing sizes itself to it.
 */
function otherSizing(
  state: State,
  model: Model,
  layout: Layout,
): { readonly other: ModelId; readonly device: DeviceName } | null {
  if (model.spec.contextPinned) return null;
  for (const other of Object.values(state.models)) {
    if (other.instance?.phase !== 'loading' || other.spec.contextPinned) continue;
    const { claim } = other.instance;
    const shared = Object.keys(layout.claim).find((name) => name !== HOST && bytesOn(claim, name) > 0);
    if (shared !== undefined) return { other: other.spec.id, device: shared };
  }
  return null;
}

/** The ledger and the verdict for one model, as the head of the queue would get it now. */
export function judgeNow(state: State, model: Model): { readonly ledger: Ledger; readonly verdict: Verdict } {
  const ledger = ledgerOf(state);
  return { ledger, verdict: judge(state, ledger, model, NOTHING_SET_ASIDE, true) };
}
