import type { EventBody } from './events.js';
import { sayDuration } from './explain.js';
import { IDLE_STOP_MILLIS, stopInstance } from './lifecycle.js';
import type { Silence } from './state.js';
import { instanceOf, modelOf, note, patchInstance, type Turn } from './turn.js';
import type { ModelId } from './units.js';

/** A load that gives no sign of life is over: whoever waits for it would wait for ever. */
export function onStalled(turn: Turn, event: Extract<EventBody, { type: 'stalled' }>): void {
  const { model: id, generation, silentMillis } = event;
  if (instanceOf(turn.state, id, generation)?.phase !== 'loading') return;
  note(
    turn,
    'stop',
    id,
    `${id}: nothing heard for ${sayDuration(silentMillis)} while it loads; it is stopped (--load-timeout)`,
  );
  stopSilent(turn, id, { kind: 'stalled', silentMillis });
}

/** One that has work and does nothing is reported; it may be killed only where the user said so. */
export function onHung(turn: Turn, event: Extract<EventBody, { type: 'hung' }>): void {
  const { model: id, generation, silentMillis } = event;
  const instance = instanceOf(turn.state, id, generation);
  if (instance?.phase !== 'ready') return;
  if (silentMillis === null) {
    if (instance.hungSince === null) return;
    patchInstance(turn, id, { hungSince: null });
    note(turn, 'notice', id, `${id}: gives signs of life again`);
    return;
  }
  if (instance.hungSince !== null) return;
  const { killHung } = turn.state.settings;
  const seems = `${id}: seems hung: no answer, no token and no CPU time used for ${sayDuration(silentMillis)}`;
  patchInstance(turn, id, { hungSince: turn.state.now - silentMillis });
  if (killHung) {
    note(turn, 'stop', id, `${seems}; it is stopped (--kill-hung)`);
    stopSilent(turn, id, { kind: 'hung', silentMillis });
    return;
  }
  note(turn, 'notice', id, `${seems}; it is left alone until somebody kills it, or --kill-hung is given`);
}

/** Nothing that it might still be asked to finish is worth waiting for. */
function stopSilent(turn: Turn, id: ModelId, reason: Silence): void {
  const { stopTimeoutMillis = IDLE_STOP_MILLIS } = modelOf(turn.state, id)?.spec ?? {};
  stopInstance(turn, id, reason, Math.min(stopTimeoutMillis, IDLE_STOP_MILLIS));
}
