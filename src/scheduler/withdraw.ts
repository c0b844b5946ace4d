import { isStarting, stopInstance } from './lifecycle.js';
import { dropEntry } from './queue.js';
import type { State } from './state.js';
import { entryOf, modelOf, note, patchEntry, type Turn } from './turn.js';
import type { ModelId } from './units.js';

/** Why there is no load that could be taken back, in one sentence, or null when there is. */
export function reasonAgainstWithdraw(state: State, id: ModelId): string | null {
  return entryOf(state, id)?.wanted === 'operator' ? null : `no load of model '${id}' waits that was asked for`;
}

/** Takes the operator's load back; it goes on for requests that wait for it, and for its pin. */
export function withdrawLoad(turn: Turn, id: ModelId): void {
  const isPinned = modelOf(turn.state, id)?.pinned === true;
  const goesOn = isPinned || (entryOf(turn.state, id)?.waiters.length ?? 0) > 0;
  const rest = goesOn ? '; it goes on, since others want it too' : '';
  note(turn, 'notice', id, `${id}: its load was withdrawn by the operator${rest}`, { kind: 'operator' });
  if (goesOn) patchEntry(turn, id, { wanted: isPinned ? 'pin' : null });
  else giveUpLoad(turn, id);
}

/** Nobody wants the model any more: a child that is still starting for it goes as well. One that wakes is as it was before. */
export function giveUpLoad(turn: Turn, id: ModelId): void {
  dropEntry(turn, id);
  const instance = modelOf(turn.state, id)?.instance;
  if (instance && isStarting(instance)) stopInstance(turn, id, { kind: 'operator', action: 'unload' });
}
