import type { TimerName } from './events.js';
import { sayDuration } from './explain.js';
import { stopInstance } from './lifecycle.js';
import { entryOf, instanceOf, modelOf, note, type Turn } from './turn.js';
import type { Millis, ModelId } from './units.js';

type IdleTimer = Extract<TimerName, { kind: 'idle' }>;

/** Starts the watch over an instance's idle time. It goes on by itself: one timer at a time, whatever the traffic. */
export function watchIdle(turn: Turn, id: ModelId): void {
  const model = modelOf(turn.state, id);
  if (!model?.instance || model.instance.readyAt === null) return;
  armIdle(turn, id, model.instance.generation, model.spec.idleTimeoutMillis ?? 0, turn.state.now);
}

function armIdle(turn: Turn, id: ModelId, generation: number, limitMillis: Millis, since: Millis): void {
  if (limitMillis <= 0) return;
  const timer: IdleTimer = { kind: 'idle', model: id, generation, limitMillis };
  turn.effects.push({ type: 'arm-timer', at: since + limitMillis, timer });
}

/** Stops an instance that nobody has used for its idle timeout, and nobody wants; else looks again later. */
export function onIdleTimer(turn: Turn, { model: id, generation, limitMillis }: IdleTimer): void {
  const instance = instanceOf(turn.state, id, generation);
  const model = modelOf(turn.state, id);
  if (instance === null || model?.spec.idleTimeoutMillis !== limitMillis || instance.phase === 'stopping') return;
  const { now } = turn.state;
  const isInUse =
    model.pinned || instance.leases.length > 0 || instance.phase === 'loading' || entryOf(turn.state, id) !== null;
  if (isInUse || now < instance.lastUsedAt + limitMillis) {
    armIdle(turn, id, generation, limitMillis, isInUse ? now : instance.lastUsedAt);
    return;
  }
  const sentence = `${id}: unloaded after ${sayDuration(now - instance.lastUsedAt)} without a request (idle-timeout)`;
  note(turn, 'stop', id, sentence);
  stopInstance(turn, id, { kind: 'idle' });
}
