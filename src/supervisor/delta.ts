import type { Delta, Snapshot } from '../client/types.js';

/** What changed from one snapshot to the next, or null when nothing did. Decisions travel by themselves. */
export function deltaBetween(before: Snapshot, after: Snapshot): Delta | null {
  const known = new Map(before.models.map((model) => [model.id, JSON.stringify(model)]));
  const changed = after.models.filter((model) => known.get(model.id) !== JSON.stringify(model));
  const orderChanged = !same(
    before.models.map((model) => model.id),
    after.models.map((model) => model.id),
  );
  const delta = {
    ...(same(before.supervisor, after.supervisor) ? {} : { supervisor: after.supervisor }),
    ...(sameDevices(before, after) ? {} : { devices: after.devices }),
    ...(changed.length === 0 ? {} : { models: changed }),
    ...(orderChanged ? { modelOrder: after.models.map((model) => model.id) } : {}),
    ...(same(before.queue, after.queue) ? {} : { queue: after.queue }),
    ...(after.requests === undefined || same(before.requests, after.requests) ? {} : { requests: after.requests }),
    ...(same(before.measureQueue, after.measureQueue) ? {} : { measureQueue: after.measureQueue }),
    ...(before.measuringSince === after.measuringSince ? {} : { measuringSince: after.measuringSince }),
    ...(after.outOfMemory === undefined || before.outOfMemory === after.outOfMemory
      ? {}
      : { outOfMemory: after.outOfMemory }),
    ...(before.shuttingDown === after.shuttingDown ? {} : { shuttingDown: after.shuttingDown }),
  };
  return Object.keys(delta).length === 0 ? null : { at: after.at, ...delta };
}

/**
 * Samples come once a second even when nothing moves. Their time alone is news only every so often: just enough for a
 * screen to see that the figures are not stale.
 */
const SAMPLE_TIME_NEWS_MILLIS = 2000;

function sameDevices(before: Snapshot, after: Snapshot): boolean {
  if (before.devices.length !== after.devices.length) return false;
  return after.devices.every((device, index) => {
    const earlier = before.devices[index];
    if (earlier === undefined) return false;
    const age = (device.sampledAt ?? 0) - (earlier.sampledAt ?? 0);
    return same({ ...earlier, sampledAt: null }, { ...device, sampledAt: null }) && age < SAMPLE_TIME_NEWS_MILLIS;
  });
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
