import { judge, NOTHING_SET_ASIDE, type SetAside, type Verdict } from './admission.js';
import { carryOut } from './carry-out.js';
import { sayDuration } from './explain.js';
import { cannotBeLoaded, cannotServe, grantWaiters, removedMeanwhile, sayRejection, takesLeases } from './leases.js';
import { isLeaving, ledgerOf } from './ledger.js';
import { endNeedlessDrains } from './lifecycle.js';
import { awaitsMeasurement } from './measure.js';
import { dropEntry, rejectWaiters } from './queue.js';
import type { Model, QueueEntry } from './state.js';
import { entryOf, modelOf, note, patchEntry, type Turn } from './turn.js';
import type { ModelId } from './units.js';

/** How often the head of the queue may be passed by entries that fit without evicting anyone. */
const BYPASS_LIMIT = 8;

/**
 * Plans the whole queue, in order of arrival. The first entry that has to wait for room is the head: room is set aside
 * for it, it alone may evict, and those behind it go first only into room that it does not need.
 */
export function planQueue(turn: Turn): void {
  endNeedlessDrains(turn);
  // Those whose model is up get their leases before anybody plans: while it loaded, their entry protected it.
  for (const { model: id } of turn.state.queue) {
    const model = modelOf(turn.state, id);
    if (model !== null && !model.removed && takesLeases(model)) grantWaiters(turn, id);
  }

  // A turn of a request to a model that is up ends here.
  if (turn.state.queue.length === 0) return;
  let head: ModelId | null = null;
  let ledger = ledgerOf(turn.state);
  for (const [index, { model: id }] of turn.state.queue.entries()) {
    const entry = entryNear(turn, id, index);
    const model = modelOf(turn.state, id);
    if (entry === null || model === null || !wantsRoom(turn, entry, model)) continue;

    const behind: QueueEntry | null = head === null ? null : entryOf(turn.state, head);
    const setAside = behind === null ? NOTHING_SET_ASIDE : setAsideFor(behind);
    const verdict = judge(turn.state, ledger, entry, model, setAside, behind === null);
    const outcome = carryOut(turn, ledger, entry, model, inTurn(verdict, behind), behind);
    if (outcome === 'waits' && behind === null) head = id;
    if (outcome === 'changed') ledger = ledgerOf(turn.state);
    if (outcome === 'waits' && verdict.kind === 'evict') ledger = ledgerOf(turn.state);
  }
}

/** The entry as it is by now: planning changes entries and takes some out, so that it is where it was, or before. */
function entryNear(turn: Turn, id: ModelId, index: number): QueueEntry | null {
  for (let place = Math.min(index, turn.state.queue.length - 1); place >= 0; place -= 1) {
    const entry = turn.state.queue[place];
    if (entry?.model === id) return entry;
  }
  return null;
}

/** False for entries that need no room: they are closed here, or left alone until something happens to their model. */
function wantsRoom(turn: Turn, entry: QueueEntry, model: Model): boolean {
  const { model: id } = entry;
  if (model.removed) {
    rejectWaiters(turn, id, removedMeanwhile(id));
    dropEntry(turn, id);
    return false;
  }
  if (cannotServe(model)) {
    // It was waited for when its source was read again: nobody leaves for what could not come up.
    const rejection = cannotBeLoaded(model);
    const decision = note(turn, 'refuse', id, sayRejection(id, rejection));
    rejectWaiters(turn, id, { ...rejection, decision });
    dropEntry(turn, id);
    return false;
  }
  const { instance } = model;
  if (instance !== null && isLeaving(instance))
    return waitsFor(turn, entry, `${id}: its previous instance is still stopping`);
  if (instance?.phase === 'loading') return waitsFor(turn, entry, `${id}: loading`);
  if (instance === null && turn.state.now < model.retryAt) {
    const next = sayDuration(model.retryAt - (model.lastExit?.at ?? turn.state.now));
    return waitsFor(turn, entry, `${id}: failed; tried again ${next} after its failure`);
  }
  if (instance === null && awaitsMeasurement(turn, model))
    return waitsFor(turn, entry, `${id}: its need is being measured`);
  return true;
}

/** Not for room, but for something of its own: it claims nothing, and holds nobody up. */
function waitsFor(turn: Turn, entry: QueueEntry, why: string): false {
  if (entry.why !== why || entry.setAside !== null) patchEntry(turn, entry.model, { why, waitKey: '', setAside: null });
  return false;
}

function setAsideFor(head: QueueEntry): SetAside {
  return { bytes: head.setAside ?? {}, instances: 1 };
}

/** The head is passed only so often; after that those who would fit wait for their turn too. */
function inTurn(verdict: Verdict, behind: QueueEntry | null): Verdict {
  if (behind === null || behind.bypassed < BYPASS_LIMIT) return verdict;
  return { layout: verdict.layout, shortage: verdict.shortage, field: verdict.field, kind: 'wait-turn' };
}
