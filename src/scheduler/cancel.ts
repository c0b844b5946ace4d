import type { QueueEntry, State } from './state.js';
import { dropEntry, rejectRequest } from './queue.js';
import { entryOf, modelOf, note, patchEntry, type Turn } from './turn.js';
import type { ModelId, RequestId } from './units.js';
import { giveUpLoad } from './withdraw.js';

/** What there is of a model that could be cancelled. */
interface Open {
  readonly waiting: readonly RequestId[];
  readonly running: readonly RequestId[];
  /** It is to be loaded although nobody waits: the operator's own wish, or its preset's. */
  readonly wanted: boolean;
}

/** Why there is nothing to cancel, in one sentence, or null when there is. */
export function reasonAgainstCancel(state: State, id: ModelId, request?: RequestId): string | null {
  const { waiting, running, wanted } = openOf(state, id, request);
  if (waiting.length + running.length > 0 || wanted) return null;
  return request === undefined
    ? `no request for model '${id}' waits or is being answered`
    : `request '${request}' of model '${id}' neither waits nor is being answered`;
}

/** Ends a model's requests, or one of them: who waits is told so, who is being answered is cut off. */
export function cancelRequests(turn: Turn, id: ModelId, request?: RequestId): void {
  const { waiting, running, wanted } = openOf(turn.state, id, request);
  const decision = note(turn, 'notice', id, sentence(id, waiting.length, running.length), { kind: 'operator' });
  for (const waiter of waiting) {
    const message = `the request for model '${id}' was cancelled by the operator`;
    rejectRequest(turn, waiter, id, {
      status: 503,
      code: 'request_cancelled',
      message,
      retryAfterSeconds: null,
      decision,
    });
  }
  leave(turn, id, waiting, wanted);
  const generation = modelOf(turn.state, id)?.instance?.generation;
  if (generation === undefined) return;
  for (const lease of running) turn.effects.push({ type: 'cut-off', request: lease, model: id, generation });
}

function openOf(state: State, id: ModelId, request: RequestId | undefined): Open {
  const entry = entryOf(state, id);
  const isMeant = (other: RequestId): boolean => request === undefined || other === request;
  return {
    waiting: (entry?.waiters ?? []).map((waiter) => waiter.request).filter(isMeant),
    running: (modelOf(state, id)?.instance?.leases ?? []).filter(isMeant),
    wanted: request === undefined && entry !== null && isOnlyWished(entry),
  };
}

/** A pin stays: taking it away is what `unpin` is for. */
function isOnlyWished({ wanted }: QueueEntry): boolean {
  return wanted === 'operator' || wanted === 'startup';
}

function leave(turn: Turn, id: ModelId, gone: readonly RequestId[], wanted: boolean): void {
  const entry = entryOf(turn.state, id);
  if (entry === null) return;
  const waiters = entry.waiters.filter((waiter) => !gone.includes(waiter.request));
  if (waiters.length === 0 && wanted) giveUpLoad(turn, id);
  else if (waiters.length === 0 && entry.wanted === null) dropEntry(turn, id);
  else patchEntry(turn, id, { waiters, wanted: wanted ? null : entry.wanted });
}

function sentence(id: ModelId, waiting: number, running: number): string {
  const parts = [...(waiting > 0 ? [`${waiting} waiting`] : []), ...(running > 0 ? [`${running} being answered`] : [])];
  if (parts.length > 0) return `${id}: ${parts.join(' and ')}: cancelled by the operator`;
  return `${id}: its load was cancelled by the operator; no request waited for it`;
}
