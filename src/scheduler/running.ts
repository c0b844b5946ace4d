import type { Instance, Model, State } from './state.js';
import type { ModelId } from './units.js';

type RunningState = Pick<State, 'models' | 'running'>;

/** Every live instance with its model, stopping ones included, oldest generation first; a catalog may be far longer. */
export function runningOf(state: RunningState): readonly (readonly [model: ModelId, instance: Instance])[] {
  const running: (readonly [model: ModelId, instance: Instance])[] = [];
  for (const id of state.running) {
    const instance = state.models[id]?.instance;
    if (instance) running.push([id, instance]);
  }
  return running;
}

/** True for an instance that has left memory and comes back when it is woken. */
export function isResting({ phase }: Pick<Instance, 'phase'>): boolean {
  return phase === 'sleeping' || phase === 'parked';
}

/** True for one started with arguments that its model has no longer: what is seen of it says nothing about a later one. */
export function isOutdated({ fingerprint }: Instance, { spec }: Model): boolean {
  return fingerprint !== spec.fingerprint;
}
