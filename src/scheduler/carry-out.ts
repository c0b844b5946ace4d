import { runningInstances, type Verdict } from './admission.js';
import type { Asker, Decision, PassedOver } from './decisions.js';
import { sayAdmission, sayDuration, sayEviction, sayLeavers, sayVerdict } from './explain.js';
import { leaversFor, type Leaver } from './leavers.js';
import { figuresOf, type Ledger } from './ledger.js';
import { drainInstance, startInstance, stopInstance, wakeInstance } from './lifecycle.js';
import { dropEntry, rejectWaiters } from './queue.js';
import { MOMENT_MILLIS } from './recent-room.js';
import { retryAfterSeconds } from './retry-after.js';
import type { Model, QueueEntry } from './state.js';
import { modelOf, patchEntry, patchModel, record, type Turn } from './turn.js';
import type { DeviceName, ModelId } from './units.js';
import { hasWaited, toVictim } from './victims.js';

/** Carries a verdict out. `waits`: the entry goes on waiting, for room; `changed`: the ledger did. */
export function carryOut(
  turn: Turn,
  ledger: Ledger,
  entry: QueueEntry,
  model: Model,
  verdict: Verdict,
  behind: QueueEntry | null,
): 'changed' | 'waits' | 'aside' | 'closed' {
  switch (verdict.kind) {
    case 'admit':
    case 'proceed':
      admit(turn, ledger, entry, model, verdict, behind);
      return 'changed';
    case 'evict':
      evict(turn, ledger, entry, verdict);
      return 'waits';
    case 'wait-leaving':
    case 'wait-measuring':
    case 'wait-sizing':
    case 'wait-unreadable':
    case 'wait-turn':
      wait(turn, ledger, entry, verdict);
      return 'waits';
    case 'wait-others':
      wait(turn, ledger, entry, verdict);
      return 'aside';
    case 'wait-busy':
      wait(turn, ledger, entry, verdict);
      takeTurns(turn, entry, verdict);
      return 'waits';
    case 'refuse-busy':
    case 'refuse-pinned':
    case 'refuse-unreadable':
    case 'refuse-too-large':
      refuse(turn, ledger, entry, verdict);
      return 'closed';
  }
}

function admit(
  turn: Turn,
  ledger: Ledger,
  entry: QueueEntry,
  model: Model,
  verdict: Extract<Verdict, { kind: 'admit' | 'proceed' }>,
  behind: QueueEntry | null,
): void {
  const { id } = model.spec;
  const isWaking = model.instance !== null;
  const proceeded = verdict.kind === 'proceed';
  const sentence =
    sayVerdict(id, verdict, turn.state.settings.modelsMax) ??
    sayAdmission(id, verdict.layout, figuresFor(ledger, verdict), behind !== null);
  const kind = behind !== null ? 'backfill' : isWaking ? 'wake' : 'admit';
  const decision = decide(turn, ledger, entry, verdict, { kind, forModel: null, plan: [], proceeded, sentence });
  if (behind !== null) patchEntry(turn, behind.model, { bypassed: behind.bypassed + 1 });
  patchEntry(turn, id, { decision, setAside: null, waitKey: '', why: `${id}: ${isWaking ? 'waking' : 'loading'}` });
  if (isWaking) wakeInstance(turn, model, proceeded);
  else startInstance(turn, model, verdict.layout, proceeded);
}

/** One record for each victim; all of them leave at the same time, and the room is set aside from now on. */
function evict(turn: Turn, ledger: Ledger, entry: QueueEntry, verdict: Extract<Verdict, { kind: 'evict' }>): void {
  const plan = verdict.victims.map(toVictim);
  let decision = entry.decision;
  const isRest = leaversFor(turn.state, verdict.shortage).length > 0;
  for (const victim of plan) {
    const sentence = sayEviction(victim, entry.model, verdict.shortage, isRest, turn.state.settings);
    const about = { kind: 'evict', forModel: entry.model, plan, proceeded: false, sentence } as const;
    decision = decide(turn, ledger, entry, verdict, about, victim.model);
    stopInstance(turn, victim.model, { kind: 'evicted', by: entry.model, decision });
  }
  nowWaitsFor(turn, entry, verdict, plan, decision);
}

/** From now on the entry waits for these to go, and for whoever is on the way out besides; the decision says why. */
function nowWaitsFor(
  turn: Turn,
  entry: QueueEntry,
  { layout, shortage }: Verdict,
  leaving: readonly { readonly model: ModelId }[],
  decision: number,
): void {
  const waitKey = `evict ${leaving.map(({ model }) => model).join(', ')}`;
  const why = sayWaitsFor(entry, leaversFor(turn.state, shortage));
  patchEntry(turn, entry.model, { decision, setAside: layout.need, waitKey, why });
}

function sayWaitsFor({ model }: QueueEntry, leavers: readonly Leaver[]): string {
  return `${model}: waits for ${sayLeavers(leavers)}`;
}

/** Says why an entry waits, once for as long as the reason stays the same; what is told of it meanwhile stays true. */
function wait(turn: Turn, ledger: Ledger, entry: QueueEntry, verdict: Verdict): void {
  // Nothing that we could keep free would be enough.
  const setAside = verdict.kind === 'wait-others' ? {} : verdict.layout.need;
  const waitKey = waitKeyOf(verdict);
  // Once victims are leaving, the record of their eviction is the reason; waiting for them to go is no news.
  const isKnown = entry.waitKey === waitKey || (verdict.kind === 'wait-leaving' && entry.waitKey.startsWith('evict '));
  const sentence = sayVerdict(entry.model, verdict, turn.state.settings.modelsMax) ?? '';
  const why = verdict.kind === 'wait-leaving' ? sayWaitsFor(entry, verdict.leavers) : sentence;
  if (isKnown && entry.setAside !== null) {
    if (why !== entry.why) patchEntry(turn, entry.model, { why });
    return;
  }
  const about = { kind: 'wait', forModel: null, plan: [], proceeded: false, sentence } as const;
  const decision = decide(turn, ledger, entry, verdict, about);
  patchEntry(turn, entry.model, { decision, setAside, waitKey, why });
  if (verdict.kind === 'wait-busy') armWaitTimers(turn, entry, verdict);
  if (verdict.kind === 'wait-others') armEndOfMoment(turn, entry, verdict);
}

function waitKeyOf(verdict: Verdict): string {
  const short = Object.keys(verdict.shortage.bytes).join(',');
  return `${verdict.kind} ${short} ${verdict.field.passedOver.map(passedKey).join(' ')}`;
}

function passedKey({ model, reason }: PassedOver): string {
  return `${model}:${reason}`;
}

/** Waking up in time to take turns, and when a young victim has come of age. */
function armWaitTimers(turn: Turn, entry: QueueEntry, verdict: Extract<Verdict, { kind: 'wait-busy' }>): void {
  const { maxWaitMillis, minResidencyMillis } = turn.state.settings;
  const timer = { kind: 'max-wait', model: entry.model, since: entry.since } as const;
  turn.effects.push({ type: 'arm-timer', at: entry.since + maxWaitMillis, timer });
  for (const { model, reason } of verdict.field.passedOver) {
    const instance = reason === 'too young' ? modelOf(turn.state, model)?.instance : null;
    if (instance?.readyAt == null) continue;
    const ofAge = { kind: 'min-residency', model, generation: instance.generation } as const;
    turn.effects.push({ type: 'arm-timer', at: instance.readyAt + minResidencyMillis, timer: ofAge });
  }
}

/** When whoever waits for other programs has to be told that these stay. */
function armEndOfMoment(turn: Turn, { model }: QueueEntry, { rooms }: Extract<Verdict, { kind: 'wait-others' }>): void {
  const hadRoom = Math.min(...rooms.map((room) => room.hadRoomAt ?? turn.state.now));
  turn.effects.push({ type: 'arm-timer', at: hadRoom + MOMENT_MILLIS + 1, timer: { kind: 'retry', model } });
}

/** A head that has waited long enough makes busy victims take no new work; they leave when what they do has ended. */
function takeTurns(turn: Turn, entry: QueueEntry, verdict: Extract<Verdict, { kind: 'wait-busy' }>): void {
  if (!hasWaited(turn.state, entry, turn.state.settings.maxWaitMillis)) return;
  const waited = sayDuration(turn.state.now - entry.since);
  const leaving = verdict.blockers.filter(({ model }) => modelOf(turn.state, model)?.instance?.phase === 'ready');
  // Who leaves is passed over no longer.
  const passedOver = verdict.field.passedOver.filter(
    ({ model }) => !leaving.some((blocker) => blocker.model === model),
  );
  let decision = entry.decision;
  for (const blocker of leaving) {
    const sentence =
      `${blocker.model}: takes no new requests and leaves after its current ${blocker.requests}, ` +
      `since ${entry.model} has waited ${waited} (--max-wait)`;
    decision = record(turn, {
      kind: 'drain',
      model: blocker.model,
      forModel: entry.model,
      asker: askerOf(entry),
      ledger: [],
      runningInstances: runningInstances(turn.state),
      modelsMax: turn.state.settings.modelsMax,
      plan: [toVictim(blocker)],
      passedOver,
      proceeded: false,
      sentence,
    });
    drainInstance(turn, blocker.model, { kind: 'evicted', by: entry.model, decision }, null);
  }
  if (leaving.length > 0) nowWaitsFor(turn, entry, verdict, leaving, decision);
}

const REFUSAL_CODES = {
  'refuse-busy': 'models_busy',
  'refuse-pinned': 'pinned_models_in_the_way',
  'refuse-unreadable': 'device_unreadable',
  'refuse-too-large': 'model_too_large',
} as const;

/** Nothing that may happen by itself would make room: everybody who waits is told so at once. Pins stay and wait. */
function refuse(
  turn: Turn,
  ledger: Ledger,
  entry: QueueEntry,
  verdict: Extract<Verdict, { kind: keyof typeof REFUSAL_CODES }>,
): void {
  const onlyPin = entry.wanted === 'pin' && entry.waiters.length === 0;
  if (onlyPin && entry.waitKey === verdict.kind) return;
  const why = sayVerdict(entry.model, verdict, turn.state.settings.modelsMax) ?? '';
  const about = {
    kind: onlyPin ? 'wait' : 'refuse',
    forModel: null,
    plan: [],
    proceeded: false,
    sentence: why,
  } as const;
  const decision = decide(turn, ledger, entry, verdict, about);
  rejectWaiters(turn, entry.model, {
    status: 503,
    code: REFUSAL_CODES[verdict.kind],
    message: `model '${entry.model}' cannot be loaded: ${why.slice(entry.model.length + 2)}`,
    retryAfterSeconds:
      verdict.kind === 'refuse-too-large' ? retryWhenTooLarge(verdict) : retryAfterSeconds(turn.state, entry.model),
    decision,
  });
  // An estimate that is too large may be wrong: it is measured, if it can be, before the next attempt.
  if (verdict.kind === 'refuse-too-large' && modelOf(turn.state, entry.model)?.measure === 'failed') {
    patchModel(turn, entry.model, { measureAgain: 'before-load' });
  }
  if (entry.wanted === 'pin') patchEntry(turn, entry.model, { decision, waitKey: verdict.kind, why, setAside: null });
  else dropEntry(turn, entry.model);
}

/** Null where asking again later would not help: not even without the programs of others would there be room. */
function retryWhenTooLarge({ rooms }: Extract<Verdict, { kind: 'refuse-too-large' }>): number | null {
  return rooms.every(({ isForOthers }) => isForOthers) ? MOMENT_MILLIS / 1000 : null;
}

function decide(
  turn: Turn,
  ledger: Ledger,
  entry: QueueEntry,
  verdict: Verdict,
  about: Pick<Decision, 'kind' | 'forModel' | 'plan' | 'proceeded' | 'sentence'>,
  model: ModelId = entry.model,
): number {
  return record(turn, {
    ...about,
    model,
    asker: askerOf(entry),
    ledger: figuresFor(ledger, verdict),
    runningInstances: runningInstances(turn.state),
    modelsMax: turn.state.settings.modelsMax,
    passedOver: verdict.field.passedOver,
  });
}

function askerOf(entry: QueueEntry): Asker {
  const first = entry.waiters[0];
  if (first !== undefined) return { kind: 'request', request: first.request };
  return { kind: entry.wanted ?? 'system' };
}

/** The devices that the model would use, as they stand. */
function figuresFor(ledger: Ledger, verdict: Verdict): Decision['ledger'] {
  return Object.entries(verdict.layout.need).flatMap(([name, need]: [DeviceName, number]) => {
    const account = ledger[name];
    return account === undefined ? [] : [figuresOf(account, need)];
  });
}
