import type { State } from './state.js';
import { modelOf } from './turn.js';
import type { Millis, ModelId } from './units.js';

/** Where no load of a model was timed yet. */
const UNKNOWN_LOAD_MILLIS: Millis = 10_000;
const LONGEST_SECONDS = 600;

/** When a refused client may sensibly ask again: after the loads that are queued before it, and its own, have taken place. */
export function retryAfterSeconds(state: State, id: ModelId): number {
  const position = state.queue.findIndex((entry) => entry.model === id);
  const before = position < 0 ? state.queue : state.queue.slice(0, position);
  const models = new Set([...before.map((entry) => entry.model), id]);
  let millis = 0;
  for (const model of models) millis += modelOf(state, model)?.loadMillis ?? UNKNOWN_LOAD_MILLIS;
  return Math.min(LONGEST_SECONDS, Math.max(1, Math.ceil(millis / 1000)));
}
