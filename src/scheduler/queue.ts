import type { QueueEntry } from './state.js';
import { entryOf, modelOf, patchEntry, type Turn } from './turn.js';
import type { ModelId, RequestId } from './units.js';

/** What a waiter is told when it cannot be served. */
export interface Rejection {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly retryAfterSeconds: number | null;
  /** Number of the decision record; 0 when there is none. */
  readonly decision: number;
}

/** Tells one request why it will not be served. */
export function rejectRequest(turn: Turn, request: RequestId, model: ModelId, rejection: Rejection): void {
  turn.effects.push({ type: 'reject', request, model, ...rejection });
}

/** Tells everybody who waits for the model; the entry stays as it is otherwise. */
export function rejectWaiters(turn: Turn, id: ModelId, rejection: Rejection): void {
  const entry = entryOf(turn.state, id);
  if (entry === null) return;
  for (const waiter of entry.waiters) rejectRequest(turn, waiter.request, id, rejection);
  patchEntry(turn, id, { waiters: [] });
}

export function dropEntry(turn: Turn, id: ModelId): void {
  turn.state.queue = turn.state.queue.filter((entry) => entry.model !== id);
}

/** Adds a waiter; all who wait for a model share its one entry, and so its one load. */
export function joinQueue(turn: Turn, id: ModelId, request: RequestId): void {
  const waiter = { request, since: turn.state.now };
  const entry = entryOf(turn.state, id);
  if (entry !== null) patchEntry(turn, id, { waiters: [...entry.waiters, waiter] });
  else turn.state.queue = [...turn.state.queue, { ...newEntry(turn, id, null), waiters: [waiter] }];
}

/** Takes a waiter out; an entry that nobody wants any more goes, unless its load is already under way. */
export function leaveQueue(turn: Turn, id: ModelId, request: RequestId): void {
  const entry = entryOf(turn.state, id);
  if (entry === null) return;
  const waiters = entry.waiters.filter((waiter) => waiter.request !== request);
  if (waiters.length === 0 && entry.wanted === null) dropEntry(turn, id);
  else patchEntry(turn, id, { waiters });
}

/** Puts a pinned model in the queue of its own accord, unless it runs already or never can. */
export function wantPinned(turn: Turn, id: ModelId): void {
  if (mayBeWanted(turn, id)) want(turn, id, 'pin');
}

/** The same for a model whose preset wants it loaded when the supervisor starts; what becomes of it later is open. */
export function wantAtStart(turn: Turn, id: ModelId): void {
  if (mayBeWanted(turn, id) && entryOf(turn.state, id) === null) want(turn, id, 'startup');
}

function mayBeWanted(turn: Turn, id: ModelId): boolean {
  const model = modelOf(turn.state, id);
  return (
    model !== null &&
    model.instance === null &&
    model.spec.invalid === null &&
    !model.blocked &&
    !turn.state.shuttingDown
  );
}

/** Makes sure that the queue has an entry for the model, wanted by the operator, by its pin or at start. */
export function want(turn: Turn, id: ModelId, by: NonNullable<QueueEntry['wanted']>): void {
  const entry = entryOf(turn.state, id);
  if (entry === null) turn.state.queue = [...turn.state.queue, newEntry(turn, id, by)];
  else if (entry.wanted !== 'operator') patchEntry(turn, id, { wanted: by });
}

/** An entry that only the pin wanted goes with it. */
export function forgetPinnedEntry(turn: Turn, id: ModelId): void {
  const entry = entryOf(turn.state, id);
  if (entry?.wanted !== 'pin') return;
  if (entry.waiters.length === 0) dropEntry(turn, id);
  else patchEntry(turn, id, { wanted: null });
}

export function waitersInQueue(queue: readonly QueueEntry[]): number {
  return queue.reduce((sum, entry) => sum + entry.waiters.length, 0);
}

/** What stands in the queue for a model from now on. */
export function newEntry(turn: Turn, id: ModelId, wanted: QueueEntry['wanted']): QueueEntry {
  const since = turn.state.now;
  return { model: id, since, waiters: [], wanted, bypassed: 0, decision: 0, waitKey: '', why: '', setAside: null };
}
