import { countText } from '../../components/text/format.js';
import { entryFor } from '../../components/text/model-state.js';
import type { ModelId, OperatorAction, Snapshot } from '../client/types.js';

/** What an action that was accepted does, in one sentence, by how things stood before it; of a load that is told later. */
export function whatWasDone(
  action: Exclude<OperatorAction, 'load' | 'wake' | 'withdraw'>,
  before: Snapshot,
  id: ModelId,
): string {
  const model = before.models.find((known) => known.id === id);
  const isLoaded = model?.generation != null;
  const running = model?.requests ?? 0;
  switch (action) {
    case 'pin':
      return `${id} is pinned: it is never evicted${isLoaded ? '' : ', and loaded as soon as there is room for it'}`;
    case 'unpin':
      return `${id} is no longer pinned`;
    case 'unload':
      if (!isLoaded) return `${id} is no longer to be loaded`;
      return running > 0
        ? `${id} leaves once its ${countText(running, 'request')} ${running === 1 ? 'has' : 'have'} ended`
        : `${id} is being unloaded`;
    case 'park':
      return `${id} goes to sleep and leaves memory`;
    case 'cancel':
      return whatWasCancelled(id, running, model === undefined ? 0 : (entryFor(before, model)?.waiters ?? 0));
    case 'kill':
      return `${id} is being killed`;
    case 'block':
      return `${id} is blocked: it is not loaded any more`;
    case 'unblock':
      return `${id} is no longer blocked`;
    case 'measure':
      return `${id} is being measured`;
  }
}

function whatWasCancelled(id: string, running: number, waiting: number): string {
  if (running + waiting === 0) return `the load of ${id} is cancelled; no request waited for it`;
  const parts = [...(running > 0 ? [`${running} being answered`] : []), ...(waiting > 0 ? [`${waiting} waiting`] : [])];
  return `${countText(running + waiting, 'request')} for ${id} cancelled: ${parts.join(', ')}`;
}
