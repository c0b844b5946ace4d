import { cancelRequests, reasonAgainstCancel } from './cancel.js';
import type { EventBody, OperatorAction } from './events.js';
import { sayDuration } from './explain.js';
import { drainInstance, keepPinned, stopInstance } from './lifecycle.js';
import { measureAgain } from './measure.js';
import { parkInstance, reasonAgainstPark, reasonAgainstWake } from './park.js';
import { dropEntry, forgetPinnedEntry, rejectWaiters, want, wantPinned } from './queue.js';
import type { Model, State } from './state.js';
import { entryOf, modelOf, note, patchModel, type Turn } from './turn.js';
import type { ModelId, RequestId } from './units.js';
import { reasonAgainstWithdraw, withdrawLoad } from './withdraw.js';

const BY_OPERATOR = { kind: 'operator' } as const;

/** Why an action makes no sense in the model's present state, in one sentence, or null when it does. */
export function reasonAgainst(state: State, action: OperatorAction, id: ModelId, request?: RequestId): string | null {
  const model = modelOf(state, id);
  if (model === null || model.removed) return `model '${id}' is not in the catalog`;
  if (state.shuttingDown) return 'the supervisor is shutting down';
  const { instance, spec } = model;
  switch (action) {
    case 'load':
      if (spec.invalid !== null) return `model '${id}' cannot be loaded: ${spec.invalid}`;
      if (model.blocked) return `model '${id}' is blocked; unblock it first`;
      if (instance?.phase === 'loading') return `model '${id}' is loading already`;
      if (instance && instance.phase !== 'stopping' && instance.draining === null)
        return `model '${id}' is loaded already${instance.restingSince === null ? '' : ', and sleeps; wake it'}`;
      return null;
    case 'unload':
      if (model.pinned) return `model '${id}' is pinned and would come back at once; unpin it first`;
      if (instance?.phase === 'stopping') return `model '${id}' is stopping already`;
      return instance === null && entryOf(state, id) === null ? `model '${id}' is not loaded` : null;
    case 'kill':
      return instance === null ? `model '${id}' is not running` : null;
    case 'pin':
      if (model.pinned) return `model '${id}' is pinned already`;
      return model.blocked ? `model '${id}' is blocked; unblock it first` : null;
    case 'unpin':
      return model.pinned ? null : `model '${id}' is not pinned`;
    case 'block':
      return model.blocked ? `model '${id}' is blocked already` : null;
    case 'unblock':
      return model.blocked ? null : `model '${id}' is not blocked`;
    case 'measure':
      if (!state.settings.measures) return 'this engine cannot measure models';
      if (spec.invalid !== null) return `model '${id}' cannot be measured: ${spec.invalid}`;
      return model.measure === 'measuring' ? `model '${id}' is being measured already` : null;
    case 'cancel':
      return reasonAgainstCancel(state, id, request);
    case 'withdraw':
      return reasonAgainstWithdraw(state, id);
    case 'park':
      return reasonAgainstPark(state, model);
    case 'wake':
      return reasonAgainstWake(model);
  }
}

/** What the operator asked for; an action that makes no sense any more is left undone. */
export function onOperator(turn: Turn, event: Extract<EventBody, { type: 'operator' }>): void {
  const { action, model: id, request } = event;
  const model = modelOf(turn.state, id);
  if (model === null || reasonAgainst(turn.state, action, id, request) !== null) return;
  switch (action) {
    case 'load':
      patchModel(turn, id, { failures: 0, retryAt: 0 });
      want(turn, id, 'operator');
      return;
    case 'unload':
      unload(turn, model);
      return;
    case 'kill':
      note(turn, 'stop', id, `${id}: killed by the operator`, BY_OPERATOR);
      stopInstance(turn, id, { kind: 'operator', action: 'kill' }, 0);
      if (model.instance?.phase === 'stopping') {
        const { generation } = model.instance;
        turn.effects.push({ type: 'stop', model: id, generation, loading: false, timeoutMillis: 0 });
      }
      return;
    case 'pin':
      setPinned(turn, model, true);
      wantPinned(turn, id);
      return;
    case 'unpin':
      setPinned(turn, model, false);
      forgetPinnedEntry(turn, id);
      return;
    case 'block':
      patchModel(turn, id, { blocked: true });
      note(turn, 'notice', id, `${id}: blocked by the operator; requests for it are refused`, BY_OPERATOR);
      rejectQueued(turn, id, 'model_blocked', `model '${id}' is blocked by the operator; unblock it first`);
      return;
    case 'unblock':
      patchModel(turn, id, { blocked: false });
      note(turn, 'notice', id, `${id}: no longer blocked`, BY_OPERATOR);
      if (model.pinned) wantPinned(turn, id);
      return;
    case 'measure':
      measureAgain(turn, id);
      return;
    case 'cancel':
      cancelRequests(turn, id, request);
      return;
    case 'withdraw':
      withdrawLoad(turn, id);
      return;
    case 'park':
      parkInstance(turn, model);
      return;
    case 'wake':
      want(turn, id, 'operator');
      return;
  }
}

/** Those who waited are told; requests in flight may end, within the model's stop-timeout. */
function unload(turn: Turn, model: Model): void {
  const { id, stopTimeoutMillis } = model.spec;
  const inFlight = model.instance?.leases.length ?? 0;
  const have = inFlight === 1 ? 'has' : 'have';
  const rest =
    inFlight > 0 ? ` once its ${inFlight} in flight ${have} ended, or in ${sayDuration(stopTimeoutMillis)}` : '';
  note(turn, 'stop', id, `${id}: unloaded by the operator${rest}`, BY_OPERATOR);
  rejectQueued(turn, id, 'model_unloaded', `model '${id}' was unloaded by the operator`);
  drainInstance(turn, id, { kind: 'operator', action: 'unload' }, stopTimeoutMillis);
}

function rejectQueued(turn: Turn, id: ModelId, code: string, message: string): void {
  rejectWaiters(turn, id, { status: 503, code, message, retryAfterSeconds: null, decision: 0 });
  dropEntry(turn, id);
}

function setPinned(turn: Turn, model: Model, pinned: boolean): void {
  const { id } = model.spec;
  patchModel(turn, id, { pinned });
  if (pinned) keepPinned(turn, id);
  const sentence = pinned
    ? `${id}: pinned; it is never evicted and comes back after a crash`
    : `${id}: no longer pinned`;
  note(turn, pinned ? 'pin' : 'unpin', id, sentence, BY_OPERATOR);
  const pins = turn.state.modelOrder.filter((other) => modelOf(turn.state, other)?.pinned);
  turn.effects.push({ type: 'save-pins', pins });
}
