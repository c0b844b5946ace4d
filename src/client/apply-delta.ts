import type { Decision, Delta, ModelId, ModelView, Snapshot } from './types.js';

/** Decisions that a client keeps at most; the oldest go first. */
export const DECISIONS_KEPT = 500;

/**
 * The snapshot after a change. What did not change in value stays the same object, so that `===` tells
 * whether there is anything new to draw.
 */
export function applyDelta(snapshot: Snapshot, delta: Delta): Snapshot {
  return {
    ...snapshot,
    at: delta.at,
    supervisor: keepEqual(snapshot.supervisor, delta.supervisor ?? snapshot.supervisor),
    devices: keepEqual(snapshot.devices, delta.devices ?? snapshot.devices),
    models: applyModels(snapshot.models, delta.models, delta.modelOrder),
    queue: keepEqual(snapshot.queue, delta.queue ?? snapshot.queue),
    measureQueue: keepEqual(snapshot.measureQueue, delta.measureQueue ?? snapshot.measureQueue),
    measuringSince: delta.measuringSince === undefined ? snapshot.measuringSince : delta.measuringSince,
    shuttingDown: delta.shuttingDown ?? snapshot.shuttingDown,
    ...(delta.requests === undefined ? {} : { requests: keepEqual(snapshot.requests, delta.requests) }),
    ...(delta.outOfMemory === undefined ? {} : { outOfMemory: delta.outOfMemory }),
  };
}

/** The snapshot with one more decision; one that it has already is not added again. */
export function applyDecision(snapshot: Snapshot, decision: Decision): Snapshot {
  if (snapshot.decisions.some((known) => known.number === decision.number)) return snapshot;
  return { ...snapshot, decisions: [...snapshot.decisions, decision].slice(-DECISIONS_KEPT) };
}

function applyModels(
  models: readonly ModelView[],
  changed: readonly ModelView[] | undefined,
  order: readonly ModelId[] | undefined,
): readonly ModelView[] {
  if (changed === undefined && order === undefined) return models;
  const byId = new Map(models.map((model) => [model.id, model]));
  const known = [...byId.keys()];
  for (const model of changed ?? []) {
    if (!byId.has(model.id)) known.push(model.id);
    byId.set(model.id, keepEqual(byId.get(model.id), model));
  }
  const next = (order ?? known).flatMap((id) => byId.get(id) ?? []);
  return next.length === models.length && next.every((model, index) => model === models[index]) ? models : next;
}

/** `after`, with every part that equals its counterpart in `before` replaced by that very object. Plain JSON only. */
export function keepEqual<T>(before: unknown, after: T): T {
  if (Object.is(before, after)) return after;
  if (typeof before !== 'object' || typeof after !== 'object' || before === null || after === null) return after;
  if (Array.isArray(before) !== Array.isArray(after)) return after;
  if (Array.isArray(before) && Array.isArray(after)) {
    const items = after.map((item: unknown, index) => keepEqual(before[index], item));
    const same = items.length === before.length && items.every((item, index) => item === before[index]);
    return (same ? before : items) as T;
  }
  const old = before as Record<string, unknown>;
  const entries = Object.entries(after).map(([key, value]) => [key, keepEqual(old[key], value)] as const);
  const same =
    entries.length === Object.keys(old).length && entries.every(([key, value]) => key in old && old[key] === value);
  return (same ? before : Object.fromEntries(entries)) as T;
}
