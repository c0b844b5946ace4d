import type { ModelSpec, State } from '../scheduler/state.js';
import type { ModelId } from '../scheduler/units.js';
import type { ReloadReport } from '../client/types.js';

/** How the models that the scheduler knows differ from these. */
export function changeBetween(
  { models }: Pick<State, 'models'>,
  specs: readonly ModelSpec[],
): Omit<ReloadReport, 'errors'> {
  const known = new Map(Object.values(models).flatMap((model) => (model.removed ? [] : [[model.spec.id, model.spec]])));
  const listed = new Set(specs.map(({ id }) => id));
  return {
    added: specs.flatMap(({ id }) => (known.has(id) ? [] : [id])),
    changed: specs.flatMap(({ id, fingerprint }) => {
      const before = known.get(id);
      return before === undefined || before.fingerprint === fingerprint ? [] : [id];
    }),
    removed: [...known.keys()].filter((id) => !listed.has(id)),
  };
}

/** Models that the operator has pinned, and not their preset. */
export function operatorsPins({ models, modelOrder }: Pick<State, 'models' | 'modelOrder'>): readonly ModelId[] {
  return modelOrder.filter((id) => models[id]?.pinned === true && !models[id].spec.pinned);
}
