import { entryFor } from '../../components/text/model-state.js';
import type { ModelView, OperatorAction, Snapshot } from '../client/types.js';

/** That a model is already what an action would make of it, in one sentence: no failure, and nothing to do. Null: it is not. */
export function alreadySo(action: OperatorAction, { models, queue }: Snapshot, id: string): string | null {
  const model = models.find((known) => known.id === id);
  if (model === undefined) return null;
  const word = wordAlready(action, model, entryFor({ queue }, model) !== null);
  return word === null ? null : `${id} is ${word} already`;
}

function wordAlready(action: OperatorAction, model: ModelView, isWanted: boolean): string | null {
  switch (action) {
    case 'load':
      return model.word === 'ready' && !model.draining ? 'loaded' : null;
    case 'unload':
      return model.generation === null && !isWanted ? 'unloaded' : null;
    case 'pin':
      return model.pinned ? 'pinned' : null;
    case 'unpin':
      return model.pinned ? null : 'unpinned';
    case 'block':
      return model.blocked ? 'blocked' : null;
    case 'unblock':
      return model.blocked ? null : 'unblocked';
    case 'park':
      return model.word === 'sleeping' || model.word === 'parked' ? 'asleep' : null;
    case 'wake':
      return model.word === 'ready' ? 'awake' : null;
    case 'kill':
    case 'cancel':
    case 'withdraw':
    case 'measure':
      return null;
  }
}

/** True while somebody's load of the model is under way: whoever wants it too has only to wait. */
export function isComing({ models }: Snapshot, id: string): boolean {
  return models.some((model) => model.id === id && model.word === 'loading');
}
