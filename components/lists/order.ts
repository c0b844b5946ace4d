import type { ModelView, ModelWord } from '../../src/client/types.js';
import type { Sort } from '../../src/store/screen-store.js';
import { sumBytes } from '../text/format.js';

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

/** The models in the order that the operator chose; equal ones stay in catalog order. */
export function orderModels(models: readonly ModelView[], sort: Sort): readonly ModelView[] {
  switch (sort) {
    case 'catalog':
      return models;
    case 'name':
      return models.toSorted((a, b) => a.id.localeCompare(b.id));
    case 'state':
      return models.toSorted((a, b) => WORD_ORDER[a.word] - WORD_ORDER[b.word]);
    case 'memory':
      return models.toSorted((a, b) => heldBytes(b) - heldBytes(a));
    case 'idle':
      return models.toSorted((a, b) => (a.lastUsedAt ?? Infinity) - (b.lastUsedAt ?? Infinity));
  }
}

function heldBytes(model: ModelView): number {
  const loaded = model.generation !== null;
  return (sumBytes(model.resident) ?? sumBytes(model.claim) ?? 0) + (loaded ? Number.MAX_SAFE_INTEGER / 4 : 0);
}
