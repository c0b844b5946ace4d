import type { EventBody, TimerName } from './events.js';
import { isLeaving } from './ledger.js';
import { stopInstance } from './lifecycle.js';
import { dropEntry, joinQueue, leaveQueue, rejectRequest, waitersInQueue, type Rejection } from './queue.js';
import { measureFirst } from './measure.js';
import { retryAfterSeconds } from './retry-after.js';
import type { Model } from './state.js';
import { entryOf, modelOf, note, patchInstance, type Turn } from './turn.js';
import type { ModelId, RequestId } from './units.js';

/** True when the model's instance takes leases right now; one at rest has to be woken first, and waking is a load. */
export function takesLeases({ instance }: Model): boolean {
  return instance?.phase === 'ready' && instance.draining === null;
}

/** A client asks for a model: it gets a lease at once, a place in the queue, or a reason. */
export function onRequest(turn: Turn, event: Extract<EventBody, { type: 'request' }>): void {
  const model = modelOf(turn.state, event.model);
  if (model === null || model.removed) {
    rejectRequest(turn, event.request, event.model, unknownModel(event.model));
    return;
  }
  const rejection = reasonNotToQueue(turn, model, event.autoload);
  if (rejection !== null) refuse(turn, event.request, event.model, rejection);
  else if (takesLeases(model)) grant(turn, event.model, [event.request]);
  else wait(turn, event.model, event.request);
}

/** A place in the queue. A model whose need is not known yet is measured before all others. */
function wait(turn: Turn, id: ModelId, request: RequestId): void {
  joinQueue(turn, id, request);
  measureFirst(turn, id);
  const { queueTimeoutMillis } = turn.state.settings;
  if (queueTimeoutMillis === 0) return;
  const timer = { kind: 'queue-timeout', model: id, request } as const;
  turn.effects.push({ type: 'arm-timer', at: turn.state.now + queueTimeoutMillis, timer });
}

/** A request has waited as long as one may (`--queue-timeout`). */
export function onQueueTimeout(turn: Turn, timer: Extract<TimerName, { kind: 'queue-timeout' }>): void {
  const entry = entryOf(turn.state, timer.model);
  if (!entry?.waiters.some((waiter) => waiter.request === timer.request)) return;
  const waited = Math.round(turn.state.settings.queueTimeoutMillis / 1000);
  const why = entry.why.replace(`${timer.model}: `, '');
  refuse(turn, timer.request, timer.model, {
    status: 503,
    code: 'queue_timeout',
    message: `model '${timer.model}' was not ready within ${waited} s (--queue-timeout): ${why}`,
    retryAfterSeconds: retryAfterSeconds(turn.state, timer.model),
    decision: 0,
  });
  leaveQueue(turn, timer.model, timer.request);
}

/** The sentence of a record that begins with the model, as every one does. */
export function sayRejection(id: ModelId, { message }: Pick<Rejection, 'message'>): string {
  return `${id}: ${message.replace(`model '${id}' `, '')}`;
}

/** Tells a request why it is not served, and leaves a record of it. */
function refuse(turn: Turn, request: RequestId, id: ModelId, rejection: Rejection): void {
  const decision = note(turn, 'refuse', id, sayRejection(id, rejection), { kind: 'request', request });
  rejectRequest(turn, request, id, { ...rejection, decision });
}

/** The client has gone or its response is complete; whichever it was, it is over, once. */
export function onRequestEnded(turn: Turn, event: Extract<EventBody, { type: 'request-ended' }>): void {
  leaveQueue(turn, event.model, event.request);
  const instance = modelOf(turn.state, event.model)?.instance;
  if (!instance?.leases.includes(event.request)) return;
  const leases = instance.leases.filter((request) => request !== event.request);
  patchInstance(turn, event.model, { leases, lastUsedAt: turn.state.now });
  if (leases.length === 0 && instance.draining !== null) stopInstance(turn, event.model, instance.draining);
}

/** Gives a lease to everybody who waits for a model that is seen to be ready, and closes its entry. */
export function grantWaiters(turn: Turn, id: ModelId): void {
  const entry = entryOf(turn.state, id);
  if (entry === null) return;
  grant(
    turn,
    id,
    entry.waiters.map((waiter) => waiter.request),
  );
  dropEntry(turn, id);
}

function grant(turn: Turn, id: ModelId, requests: readonly RequestId[]): void {
  const instance = modelOf(turn.state, id)?.instance;
  if (!instance || requests.length === 0) return;
  patchInstance(turn, id, { leases: [...instance.leases, ...requests], lastUsedAt: turn.state.now });
  for (const request of requests) {
    turn.effects.push({ type: 'grant', request, model: id, generation: instance.generation });
  }
}

function unknownModel(id: ModelId): Rejection {
  return notFound(`model '${id}' is not in the catalog`);
}

/** The same for those who asked when it still was. */
export function removedMeanwhile(id: ModelId): Rejection {
  return notFound(`model '${id}' was removed from its source while the request waited for it`);
}

/** True for a model that neither runs nor could be loaded. */
export function cannotServe(model: Model): boolean {
  return model.spec.invalid !== null && !takesLeases(model);
}

export function cannotBeLoaded({ spec: { id, invalid } }: Model): Rejection {
  const message = `model '${id}' cannot be loaded: ${invalid ?? ''}`;
  return { status: 503, code: 'model_invalid', message, retryAfterSeconds: null, decision: 0 };
}

/**
 * True for a model that came up before it crashed, at work, and will do so again in a moment: requests wait for that. One that
 * does not come up is another matter.
 */
function hasWorked({ lastExit }: Model): boolean {
  return lastExit?.duringLoad === false;
}

function notFound(message: string): Rejection {
  return { status: 404, code: 'model_not_found', message, retryAfterSeconds: null, decision: 0 };
}

/** What keeps a request from even waiting. */
function reasonNotToQueue(turn: Turn, model: Model, autoload: boolean): Rejection | null {
  const { id } = model.spec;
  const { state } = turn;
  const refuse = (code: string, message: string, retryAfterSeconds: number | null): Rejection => {
    return { status: 503, code, message, retryAfterSeconds, decision: 0 };
  };
  if (state.shuttingDown) return refuse('shutting_down', 'the supervisor is shutting down', null);
  if (cannotServe(model)) return cannotBeLoaded(model);
  if (model.blocked) return refuse('model_blocked', `model '${id}' is blocked by the operator; unblock it first`, null);
  if (takesLeases(model)) return null;
  if (!autoload && (model.instance === null || isLeaving(model.instance))) {
    return refuse(
      'model_not_loaded',
      `model '${id}' is not loaded, and this request must not load it (autoload is off)`,
      null,
    );
  }
  if (model.instance === null && state.now < model.retryAt && !hasWorked(model)) {
    const seconds = Math.ceil((model.retryAt - state.now) / 1000);
    const reason = model.lastExit?.reason ?? 'its last load failed';
    return refuse(
      'model_failed',
      `model '${id}' failed and is tried again in ${seconds} s at the earliest: ${reason}`,
      seconds,
    );
  }
  if (waitersInQueue(state.queue) >= state.settings.queueMax) {
    const message = `as many requests as may wait are waiting already (--queue-max ${state.settings.queueMax})`;
    return refuse('queue_full', message, retryAfterSeconds(state, id));
  }
  return null;
}
