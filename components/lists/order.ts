import type { ModelView, ModelWord, Snapshot } from '../../src/client/types.js';
import type { Sort } from '../../src/store/screen-store.js';
import { sumBytes } from '../text/format.js';
import { stateOf } from '../text/model-state.js';

/** What needs attention or does work first. */
const WORD_ORDER: Readonly<Record<ModelWord, number>> = {
  failed: 0,
  loading: 1,
  stopping: 2,
  ready: 3,
  sleeping: 4,
  parked: 5,
  unloaded: 6,
  invalid: 7,
};

/** After what is on its way already. */
const WAITING_ORDER = 2.5;

/** The models in the order that the operator chose; equal ones stay in catalog order. */
export function orderModels({ models, queue }: Pick<Snapshot, 'models' | 'queue'>, sort: Sort): readonly ModelView[] {
  switch (sort) {
    case 'catalog':
      return models;
    case 'name':
      return models.toSorted((a, b) => a.id.localeCompare(b.id));
    case 'state':
      return models.toSorted((a, b) => stateRank(a, queue) - stateRank(b, queue));
    case 'memory':
      return models.toSorted((a, b) => heldBytes(b) - heldBytes(a));
    case 'idle':
      return models.toSorted((a, b) => (a.lastUsedAt ?? Infinity) - (b.lastUsedAt ?? Infinity));
  }
}

function stateRank(model: ModelView, queue: Snapshot['queue']): number {
  return stateOf(model, { queue }).word === 'WAITING' ? WAITING_ORDER : WORD_ORDER[model.word];
}

function heldBytes(model: ModelView): number {
  const loaded = model.generation !== null;
  return (sumBytes(model.resident) ?? sumBytes(model.claim) ?? 0) + (loaded ? Number.MAX_SAFE_INTEGER / 4 : 0);
}
