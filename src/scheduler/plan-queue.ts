import { judge, NOTHING_SET_ASIDE, runningInstances, type SetAside, type Verdict } from './admission.js';
import type { Asker, Decision, PassedOver } from './decisions.js';
import { toVictim } from './eviction.js';
import { sayAdmission, sayDuration, sayEviction, sayVerdict } from './explain.js';
import { grantWaiters, takesLeases, unknownModel } from './leases.js';
import { figuresOf, isLeaving, ledgerOf, type Ledger } from './ledger.js';
import { drainInstance, startInstance, stopInstance } from './lifecycle.js';
import { dropEntry, rejectWaiters } from './queue.js';
import type { Model, QueueEntry } from './state.js';
import { entryOf, modelOf, patchEntry, record, type Turn } from './turn.js';
import type { DeviceName, ModelId } from './units.js';

/** How often the head of the queue may be passed by entries that fit without evicting anyone. */
const BYPASS_LIMIT = 8;

/** Seconds after which a refused client may ask again, where nothing better is known. */
const RETRY_AFTER_SECONDS = 5;

/**
 * Plans the whole queue, in order of arrival. The first entry that has to wait for room is the head: room is set aside
 * for it, it alone may evict, and those behind it go first only into room that it does not need.
 */
export function planQueue(turn: Turn): void {
  let head: QueueEntry | null = null;
  let ledger = ledgerOf(turn.state);
  for (const { model: id } of turn.state.queue) {
    const entry = entryOf(turn.state, id);
    const model = modelOf(turn.state, id);
    if (entry === null || closeWithoutPlanning(turn, id, model)) continue;
    if (model === null || model.instance !== null || backsOff(turn, model)) continue;

    const behind: QueueEntry | null = head;
    const setAside = behind === null ? NOTHING_SET_ASIDE : setAsideFor(behind);
    const mayGo = behind === null || bypassesLeft(turn, behind);
    const verdict = judge(turn.state, ledger, model, setAside, behind === null);
    const acted = act(turn, ledger, entry, model, mayGo ? verdict : { ...verdict, kind: 'wait-turn' }, behind);
    if (acted === 'head' && behind === null) head = entryOf(turn.state, id);
    ledger = ledgerOf(turn.state);
  }
}

/** Entries that need no room: closed, refused or left alone until something happens to their instance. */
function closeWithoutPlanning(turn: Turn, id: ModelId, model: Model | null): boolean {
  if (model === null || model.removed) {
    rejectWaiters(turn, id, unknownModel(id));
    dropEntry(turn, id);
    return true;
  }
  if (takesLeases(model)) {
    grantWaiters(turn, id);
    return true;
  }
  if (model.instance !== null) {
    const why = isLeaving(model.instance) ? `${id}: its previous instance is still stopping` : `${id}: loading`;
    patchEntry(turn, id, { why, waitKey: '', setAside: null });
  }
  return false;
}

/** A model that has just failed is left alone for a while. */
function backsOff(turn: Turn, model: Model): boolean {
  const { id } = model.spec;
  if (turn.state.now >= model.retryAt) return false;
  const why = `${id}: failed; tried again ${sayDuration(model.retryAt - turn.state.now)} from its failure`;
  if (entryOf(turn.state, id)?.waitKey !== 'failed') patchEntry(turn, id, { why, waitKey: 'failed', setAside: null });
  return true;
}

function setAsideFor(head: QueueEntry): SetAside {
  return { bytes: head.setAside ?? {}, instances: 1 };
}

function bypassesLeft(turn: Turn, head: QueueEntry): boolean {
  return (entryOf(turn.state, head.model)?.bypassed ?? 0) < BYPASS_LIMIT;
}

/** Carries a verdict out. `head`: the entry goes on waiting for room and claims it. */
function act(
  turn: Turn,
  ledger: Ledger,
  entry: QueueEntry,
  model: Model,
  verdict: Verdict,
  behind: QueueEntry | null,
): 'done' | 'head' {
  const { id } = model.spec;
  switch (verdict.kind) {
    case 'admit': {
      const figures = figuresFor(ledger, verdict);
      const sentence = sayAdmission(id, verdict.layout, figures, behind !== null);
      const kind = behind === null ? 'admit' : 'backfill';
      const decision = decide(turn, ledger, entry, verdict, { kind, forModel: null, plan: [], sentence });
      if (behind !== null) patchEntry(turn, behind.model, { bypassed: behind.bypassed + 1 });
      patchEntry(turn, id, { decision, setAside: null, waitKey: '', why: `${id}: loading` });
      startInstance(turn, model, verdict.layout);
      return 'done';
    }
    case 'evict':
      evict(turn, ledger, entry, verdict);
      return 'head';
    case 'wait-leaving':
    case 'wait-sizing':
    case 'wait-turn':
      wait(turn, ledger, entry, verdict);
      return 'head';
    case 'wait-busy':
      wait(turn, ledger, entry, verdict);
      takeTurns(
        turn,
        entry,
        verdict.blockers.map((blocker) => blocker.model),
      );
      return 'head';
    case 'refuse-pinned':
    case 'refuse-too-large':
      return refuse(turn, ledger, entry, verdict);
  }
}

/** One record for each victim; all of them leave at the same time, and the room is set aside from now on. */
function evict(turn: Turn, ledger: Ledger, entry: QueueEntry, verdict: Extract<Verdict, { kind: 'evict' }>): void {
  const plan = verdict.victims.map((victim) => toVictim(victim, turn.state.now));
  let decision = entry.decision;
  for (const victim of plan) {
    const sentence = sayEviction(victim, entry.model, verdict.shortage, turn.state.settings.modelsMax);
    const about = { kind: 'evict', forModel: entry.model, plan, sentence } as const;
    decision = decide(turn, ledger, entry, verdict, about, victim.model);
    stopInstance(turn, victim.model, { kind: 'evicted', by: entry.model, decision });
  }
  const names = plan.map((victim) => victim.model).join(', ');
  const why = `${entry.model}: waits for ${names} to leave`;
  patchEntry(turn, entry.model, { decision, setAside: verdict.layout.claim, waitKey: `evict ${names}`, why });
}

/** Says why an entry waits, once for as long as the reason stays the same. */
function wait(turn: Turn, ledger: Ledger, entry: QueueEntry, verdict: Verdict): void {
  const why = sayVerdict(entry.model, verdict, turn.state.settings.modelsMax) ?? '';
  const waitKey = [
    verdict.kind,
    ...Object.keys(verdict.shortage.bytes),
    ...verdict.field.passedOver.map(passedKey),
  ].join(' ');
  const setAside = verdict.layout.claim;
  // Once victims are leaving, the record of their eviction is the reason; waiting for them to go is no news.
  const known = entry.waitKey === waitKey || (verdict.kind === 'wait-leaving' && entry.waitKey.startsWith('evict '));
  if (known) {
    patchEntry(turn, entry.model, { setAside, why: entry.waitKey === waitKey ? why : entry.why });
    return;
  }
  const decision = decide(turn, ledger, entry, verdict, { kind: 'wait', forModel: null, plan: [], sentence: why });
  patchEntry(turn, entry.model, { decision, setAside, waitKey, why });
  if (verdict.kind === 'wait-busy') {
    const timer = { kind: 'max-wait', model: entry.model, since: entry.since } as const;
    turn.effects.push({ type: 'arm-timer', at: entry.since + turn.state.settings.maxWaitMillis, timer });
  }
}

function passedKey({ model, reason }: PassedOver): string {
  return `${model}:${reason}`;
}

/** A head that has waited long enough makes busy victims take no new work; they leave when what they do has ended. */
function takeTurns(turn: Turn, entry: QueueEntry, blockers: readonly ModelId[]): void {
  const waited = turn.state.now - entry.since;
  if (waited < turn.state.settings.maxWaitMillis) return;
  for (const id of blockers) {
    const instance = modelOf(turn.state, id)?.instance;
    if (instance?.phase !== 'ready') continue;
    const decision = record(turn, {
      kind: 'drain',
      model: id,
      forModel: entry.model,
      asker: askerOf(entry),
      ledger: [],
      runningInstances: runningInstances(turn.state),
      modelsMax: turn.state.settings.modelsMax,
      plan: [],
      passedOver: [],
      sentence:
        `${id}: takes no new requests and leaves after its current ${instance.leases.length}, ` +
        `since ${entry.model} has waited ${sayDuration(waited)} (--max-wait)`,
    });
    drainInstance(turn, id, { kind: 'evicted', by: entry.model, decision }, null);
  }
}

/** Nothing that may happen by itself would make room: everybody who waits is told so at once. Pins stay and wait. */
function refuse(turn: Turn, ledger: Ledger, entry: QueueEntry, verdict: Verdict): 'done' {
  const why = sayVerdict(entry.model, verdict, turn.state.settings.modelsMax) ?? '';
  const news = entry.waitKey !== verdict.kind || entry.waiters.length > 0;
  const about = {
    kind: entry.wanted === 'pin' && entry.waiters.length === 0 ? 'wait' : 'refuse',
    forModel: null,
    plan: [],
    sentence: why,
  } as const;
  const decision = news ? decide(turn, ledger, entry, verdict, about) : entry.decision;
  rejectWaiters(turn, entry.model, {
    status: 503,
    code: verdict.kind === 'refuse-pinned' ? 'pinned_models_in_the_way' : 'model_too_large',
    message: `model '${entry.model}' cannot be loaded: ${why.slice(entry.model.length + 2)}`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    decision,
  });
  if (entry.wanted === 'pin') patchEntry(turn, entry.model, { decision, waitKey: verdict.kind, why, setAside: null });
  else dropEntry(turn, entry.model);
  return 'done';
}

function decide(
  turn: Turn,
  ledger: Ledger,
  entry: QueueEntry,
  verdict: Verdict,
  about: Pick<Decision, 'kind' | 'forModel' | 'plan' | 'sentence'>,
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
  return Object.entries(verdict.layout.claim).flatMap(([name, need]: [DeviceName, number]) => {
    const account = ledger[name];
    return account === undefined ? [] : [figuresOf(account, need)];
  });
}
