import { bytesOn, sumOf } from './amounts.js';
import { layoutsOf, type Layout } from './layouts.js';
import { leaversFor, type Leaver } from './leavers.js';
import { availableBytes, isLeaving, limitsLoads, passingRoomBytes, type Ledger } from './ledger.js';
import { isShort, POLICIES, remaining, type Candidate, type Shortage } from './policies.js';
import { isOfInstance } from './releases.js';
import { tooSmallFor, type Room } from './rooms.js';
import { runningOf } from './running.js';
import type { Model, QueueEntry, State } from './state.js';
import { HOST, type Bytes, type DeviceBytes, type DeviceName, type Millis, type ModelId } from './units.js';
import { troubleWith } from './unread.js';
import { NO_FIELD, surveyVictims, type Field } from './victims.js';

/** What can be done for a model that wants to run; everything needed to explain it comes along. */
export type Verdict = {
  readonly layout: Layout;
  readonly shortage: Shortage;
  readonly field: Field;
} & (
  | { readonly kind: 'admit' }
  /** It does not fit, and is loaded all the same: `--admission proceed`. */
  | { readonly kind: 'proceed' }
  | { readonly kind: 'evict'; readonly victims: readonly Candidate[] }
  /** Enough is already leaving. */
  | { readonly kind: 'wait-leaving'; readonly leavers: readonly Leaver[] }
  /** Another load that sizes itself to the free memory is under way on the same device. */
  | { readonly kind: 'wait-sizing'; readonly other: ModelId; readonly device: DeviceName }
  /** There is room, but for a moment a measuring child is in it. */
  | { readonly kind: 'wait-measuring'; readonly other: ModelId; readonly device: DeviceName }
  /** A device cannot be read: what is free there is not known, and nobody is asked to leave for a guess. */
  | ({ readonly kind: 'wait-unreadable' } & Unreadable)
  | ({ readonly kind: 'refuse-unreadable' } & Unreadable)
  /** Nobody may be asked to leave now, but these would do once they are done. */
  | { readonly kind: 'wait-busy'; readonly blockers: readonly Candidate[] }
  /** Room that is set aside for the head of the queue is not taken. */
  | { readonly kind: 'wait-turn' }
  /** It would have to wait, and `--admission refuse` says that nobody waits. */
  | { readonly kind: 'refuse-busy' }
  | { readonly kind: 'refuse-pinned'; readonly pinned: readonly Candidate[] }
  /** Other programs have only just taken the room, and may give it back. */
  | { readonly kind: 'wait-others'; readonly rooms: readonly Room[] }
  /** There are so many other ways to place it, none of them nearer to fitting. */
  | { readonly kind: 'refuse-too-large'; readonly rooms: readonly Room[]; readonly otherWays: number }
);

/** A device that cannot be read, and why not, in its driver's words. */
interface Unreadable {
  readonly device: DeviceName;
  readonly problem: string;
}

/** A driver that hangs, or is reset, is back by then; one that is broken is not, and whoever waits should know. */
const UNREADABLE_PATIENCE_MILLIS: Millis = 30_000;

const NO_SHORTAGE: Shortage = { bytes: {}, instances: 0 };

/** Better ones first; the first placement wins among equals. */
const RANK: Readonly<Record<Verdict['kind'], number>> = {
  admit: 0,
  'wait-leaving': 1,
  'wait-measuring': 2,
  'wait-sizing': 3,
  evict: 4,
  'wait-busy': 5,
  'wait-unreadable': 6,
  'wait-others': 7,
  'wait-turn': 8,
  proceed: 9,
  'refuse-busy': 10,
  'refuse-unreadable': 11,
  'refuse-pinned': 12,
  'refuse-too-large': 13,
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
export function judge(
  state: State,
  ledger: Ledger,
  entry: QueueEntry,
  model: Model,
  setAside: SetAside,
  mayEvict: boolean,
): Verdict {
  const layouts = layoutsOf(state, model);
  const verdicts = layouts.map((layout) => judgeLayout(state, ledger, entry, model, layout, setAside, mayEvict));
  const best = verdicts.reduce((best, verdict) => (isBetter(verdict, best) ? verdict : best));
  return best.kind === 'refuse-too-large' ? { ...best, otherWays: layouts.length - 1 } : best;
}

function isBetter(a: Verdict, b: Verdict): boolean {
  if (a.kind === 'evict' && b.kind === 'evict') return evictedBytes(a.victims) < evictedBytes(b.victims);
  if (a.kind === 'refuse-too-large' && b.kind === 'refuse-too-large') return lackOf(a) < lackOf(b);
  return RANK[a.kind] < RANK[b.kind];
}

function lackOf({ layout, rooms }: Extract<Verdict, { kind: 'refuse-too-large' }>): Bytes {
  return rooms.reduce((sum, { device, roomBytes }) => sum + bytesOn(layout.claim, device) - roomBytes, 0);
}

function evictedBytes(victims: readonly Candidate[]): Bytes {
  return victims.reduce((sum, victim) => sum + sumOf(victim.gives), 0);
}

/*
 * 0. A device that it needs cannot be read: wait for that, and after a while refuse.
 * 1. It fits, nobody else is sizing itself on the same device, and no measuring child is in the room: admit.
 * 2. It fits once those who are leaving have left: wait for them, ask nobody else.
 * 3. It could never fit, even alone: too large; where others have only just taken the room, wait for that a while.
 * 4. Somebody may be asked to leave, and that is enough: evict.
 * 5. It would be enough once busy, loading or young ones may leave: wait for them.
 * 6. Pinned ones are in the way.
 * `--admission refuse` makes 5 a refusal, `proceed` makes 3, 5 and 6 a load with a warning, and leaves 0 out.
 */
function judgeLayout(
  state: State,
  ledger: Ledger,
  entry: QueueEntry,
  model: Model,
  layout: Layout,
  setAside: SetAside,
  mayEvict: boolean,
): Verdict {
  const unreadable = unreadableDevice(state, layout.need);
  if (unreadable !== null) return { layout, shortage: NO_SHORTAGE, field: NO_FIELD, ...unreadable };
  const places = model.instance === null ? 1 : 0;
  const shortage = shortageOf(state, ledger, layout.need, places, setAside);
  if (!isShort(shortage)) {
    const base = { layout, shortage, field: NO_FIELD };
    const sizing = otherSizing(state, model, layout);
    if (sizing !== null) return { ...base, kind: 'wait-sizing', ...sizing };
    const measuring = measuringInTheWay(state, ledger, model, layout);
    return measuring === null ? { ...base, kind: 'admit' } : { ...base, kind: 'wait-measuring', ...measuring };
  }
  if (!mayEvict) return { layout, shortage, field: NO_FIELD, kind: 'wait-turn' };

  const missing = withoutLeaving(state, ledger, shortage);
  const field = surveyVictims(state, entry, missing);
  if (!isShort(missing)) return { layout, shortage, field, kind: 'wait-leaving', leavers: leaversFor(state, shortage) };

  const base = { layout, shortage: missing, field };
  const { admission, policy } = state.settings;
  const tooSmall = tooSmallFor(state, layout.claim);
  const victims = tooSmall.length > 0 ? null : POLICIES[policy](field.candidates, missing);
  if (victims !== null) return { ...base, field: withUnneeded(field, victims), kind: 'evict', victims };
  if (admission === 'proceed') return { ...base, kind: 'proceed' };
  if (tooSmall.length > 0) {
    const isForAMoment = admission !== 'refuse' && tooSmall.every((room) => room.hadRoomAt !== null);
    if (isForAMoment) return { ...base, kind: 'wait-others', rooms: tooSmall };
    return { ...base, kind: 'refuse-too-large', rooms: tooSmall, otherWays: 0 };
  }

  const later = POLICIES[policy]([...field.candidates, ...field.blockers], missing);
  if (later === null) return { ...base, kind: 'refuse-pinned', pinned: field.pinned };
  if (admission === 'refuse') return { ...base, kind: 'refuse-busy' };
  return { ...base, kind: 'wait-busy', blockers: later.filter((candidate) => field.blockers.includes(candidate)) };
}

/** Those who could have left too, but need not, are passed over like the others. */
export function withUnneeded(field: Field, victims: readonly Candidate[]): Field {
  const unneeded = field.candidates.filter((candidate) => !victims.includes(candidate));
  const passed = unneeded.map(({ model }) => ({ model, reason: 'not needed' as const, requests: 0 }));
  return { ...field, passedOver: [...field.passedOver, ...passed] };
}

/** A device that limits loads and cannot be read: what it has left is unknown, which is not free. */
function unreadableDevice(
  state: State,
  need: DeviceBytes,
): ({ readonly kind: 'wait-unreadable' | 'refuse-unreadable' } & Unreadable) | null {
  if (state.settings.admission === 'proceed') return null;
  for (const [name, bytes] of Object.entries(need)) {
    const trouble = bytes === 0 ? null : troubleWith(state, name);
    if (trouble === null) continue;
    const { problem, problemSince } = trouble;
    const isOver = state.now - problemSince >= UNREADABLE_PATIENCE_MILLIS || state.settings.admission === 'refuse';
    return { kind: isOver ? 'refuse-unreadable' : 'wait-unreadable', device: name, problem };
  }
  return null;
}

/** What is missing right now: bytes on each device, and places where their number is limited. */
function shortageOf(state: State, ledger: Ledger, need: DeviceBytes, places: number, setAside: SetAside): Shortage {
  const bytes: Record<DeviceName, Bytes> = {};
  for (const [name, needed] of Object.entries(need)) {
    const account = ledger[name];
    // A device that nobody has reported yet limits nothing.
    if (account === undefined || needed === 0 || !limitsLoads(account.device)) continue;
    const missing = needed - (availableBytes(account) - bytesOn(setAside.bytes, name));
    if (missing > 0) bytes[name] = missing;
  }
  const { modelsMax } = state.settings;
  const over = modelsMax > 0 && places > 0 ? runningInstances(state) + setAside.instances + places - modelsMax : 0;
  return { bytes, instances: Math.max(0, over) };
}

/** What will still be missing once everybody who is on the way out has gone and given back what it holds. */
function withoutLeaving(state: State, ledger: Ledger, shortage: Shortage): Shortage {
  const gives = Object.fromEntries(Object.entries(ledger).map(([name, account]) => [name, account.leavingBytes]));
  const { bytes } = remaining({ bytes: shortage.bytes, instances: 0 }, [{ gives }]);
  const { instances } = shortage;
  return { bytes, instances: instances === 0 ? 0 : Math.max(0, instances - leavingInstances(state)) };
}

/** Instances that count against `--models-max`: running, stopping, and those whose memory is not back yet. */
export function runningInstances(state: State): number {
  return state.running.length + departedInstances(state);
}

function leavingInstances(state: State): number {
  return runningOf(state).filter(([, instance]) => isLeaving(instance)).length + departedInstances(state);
}

/** Those that have ended, and whose memory is not back yet. */
function departedInstances({ releases }: State): number {
  return releases.filter(isOfInstance).length;
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
  if (model.spec.contextPinned || model.instance !== null) return null;
  for (const [other, { phase, claim }] of runningOf(state)) {
    if (phase !== 'loading' || state.models[other]?.spec.contextPinned) continue;
    const shared = Object.keys(layout.claim).find((name) => name !== HOST && bytesOn(claim, name) > 0);
    if (shared !== undefined) return { other, device: shared };
  }
  return null;
}

/**
 * A measuring child on a device of the layout that leaves too little for it, or that a child which sizes itself to what it
 * finds free would take for somebody who stays.
 */
function measuringInTheWay(
  state: State,
  ledger: Ledger,
  model: Model,
  layout: Layout,
): { readonly other: ModelId; readonly device: DeviceName } | null {
  const { measuring } = state;
  if (measuring === null) return null;
  const device = Object.keys(layout.need).find((name) => {
    const account = ledger[name];
    if (account === undefined || account.passingBytes === 0 || bytesOn(layout.need, name) === 0) return false;
    if (name === HOST || !limitsLoads(account.device)) return false;
    return !model.spec.contextPinned || bytesOn(layout.need, name) > passingRoomBytes(account);
  });
  return device === undefined ? null : { other: measuring.model, device };
}
