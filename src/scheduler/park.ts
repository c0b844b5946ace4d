import { isResting } from './running.js';
import type { Model, State } from './state.js';
import { note, type Turn } from './turn.js';

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
  note(turn, 'notice', spec.id, `${spec.id}: told by the operator to sleep`, { kind: 'operator' });
  turn.effects.push({ type: 'park', model: spec.id, generation: instance.generation });
}
