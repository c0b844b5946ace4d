import type { TimerName } from './events.js';
import { sayDuration } from './explain.js';
import { isResting } from './running.js';
import type { Model, State } from './state.js';
import { instanceOf, note, type Turn } from './turn.js';
import type { Millis } from './units.js';

/** A child that gives back whole devices takes a second or two; one that is at work still does so right after that. */
const PARK_PATIENCE_MILLIS: Millis = 15_000;

/** Why a model cannot be put to sleep now, in one sentence, or null when it can. */
export function reasonAgainstPark(state: State, { spec, instance }: Model): string | null {
  const { id } = spec;
  if (instance === null) return `model '${id}' is not loaded`;
  if (isResting(instance)) return `model '${id}' is asleep already`;
  if (state.settings.parks !== true) {
    return `this engine's models cannot be put to sleep from outside: unload '${id}' (u), or let models sleep when idle with --sleep-idle-seconds`;
  }
  if (instance.phase === 'loading') return `model '${id}' is loading`;
  if (instance.phase === 'stopping' || instance.draining !== null) return `model '${id}' is leaving`;
  const { length } = instance.leases;
  return length > 0
    ? `model '${id}' is answering ${length} request${length === 1 ? '' : 's'}; it can sleep once idle`
    : null;
}

/** Why a model cannot be woken now, in one sentence, or null when it can. */
export function reasonAgainstWake({ spec, instance, blocked }: Model): string | null {
  const { id } = spec;
  if (instance === null) return `model '${id}' is not loaded, so that there is nothing to wake; load it`;
  if (!isResting(instance))
    return instance.phase === 'ready' ? `model '${id}' is awake` : `model '${id}' is ${instance.phase}`;
  if (instance.draining !== null) return `model '${id}' is leaving`;
  return blocked ? `model '${id}' is blocked; unblock it first` : null;
}

/** Asks an idle instance to leave memory; what it holds is counted until it says that it has. */
export function parkInstance(turn: Turn, { spec, instance }: Model): void {
  if (instance === null) return;
  const { generation } = instance;
  const since = turn.state.now;
  note(turn, 'notice', spec.id, `${spec.id}: told by the operator to sleep`, { kind: 'operator' });
  turn.effects.push({ type: 'park', model: spec.id, generation });
  const timer = { kind: 'park', model: spec.id, generation, since } as const;
  turn.effects.push({ type: 'arm-timer', at: since + PARK_PATIENCE_MILLIS, timer });
}

/** The operator waits for memory to come back: when it does not, and nobody has wanted the model meanwhile, that is said. */
export function onParkTimer(turn: Turn, timer: Extract<TimerName, { kind: 'park' }>): void {
  const { model: id, generation, since } = timer;
  const instance = instanceOf(turn.state, id, generation);
  if (instance?.phase !== 'ready' || instance.leases.length > 0 || instance.lastUsedAt > since) return;
  const waited = sayDuration(turn.state.now - since);
  note(turn, 'notice', id, `${id}: was told to sleep ${waited} ago and has not; unload it to have its memory back`);
}
