import type { Decision } from './decisions.js';
import { reasonAgainst } from './operator.js';
import type { State } from './state.js';
import { step } from './step.js';
import { entryOf, modelOf } from './turn.js';
import type { Millis, ModelId } from './units.js';

/** What loading a model now would do. */
export interface Preview {
  readonly model: ModelId;
  readonly outcome: 'running' | 'fits' | 'proceeds' | 'evicts' | 'waits' | 'refused';
  readonly sentence: string;
  /** The record that would be made; it has no number, since it was not. */
  readonly decision: Decision | null;
}

/** Plays the operator's `load` and tells what came of it. Since a turn changes nothing but its result, nothing happens. */
export function previewLoad(state: State, id: ModelId, at: Millis): Preview {
  const against = reasonAgainst(state, 'load', id);
  if (against !== null) {
    const running = modelOf(state, id)?.instance != null;
    return { model: id, outcome: running ? 'running' : 'refused', sentence: against, decision: null };
  }
  const result = step(state, { type: 'operator', action: 'load', model: id, at });
  const about = result.decisions
    .filter((decision) => decision.model === id || decision.forModel === id)
    .map((decision) => ({ ...decision, number: 0 }));
  const last = about.at(-1) ?? null;
  switch (last?.kind) {
    case 'admit':
    case 'backfill':
      return { model: id, outcome: last.proceeded ? 'proceeds' : 'fits', sentence: last.sentence, decision: last };
    case 'evict':
      return {
        model: id,
        outcome: 'evicts',
        sentence: about.map((decision) => decision.sentence).join('; '),
        decision: last,
      };
    case 'refuse':
      return { model: id, outcome: 'refused', sentence: last.sentence, decision: last };
    default: {
      const why = entryOf(result.state, id)?.why ?? '';
      return { model: id, outcome: 'waits', sentence: why || `${id}: waits`, decision: last };
    }
  }
}
