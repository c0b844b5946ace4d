import { bytesOn, largerOf, sameAmounts } from './amounts.js';
import type { DeviceReading } from './events.js';
import { isOutdated, isResting, runningOf } from './running.js';
import type { Instance, Model, State } from './state.js';
import { isSettled, SETTLING_MILLIS } from './transition.js';
import { modelOf, patchModel, remember, type Turn } from './turn.js';
import type { Bytes, DeviceBytes, DeviceName, Millis, ModelId } from './units.js';

/** A child says that it goes to rest before it has given everything back. */
export function hasSettledAtRest(instance: Instance, takenAt: Millis): boolean {
  const { restingSince } = instance;
  return isResting(instance) && restingSince !== null && takenAt >= restingSince + SETTLING_MILLIS;
}

/**
 * What an instance is counted for after a sample. Never less than what is seen; while it is awake that only grows. At rest
 * it is just what is seen, once it has been seen since then; where nobody can see it, what it kept in an earlier rest, once
 * the total says that the rest of it is back.
 * @param isSeen false where it was in no list of processes
 */
export function claimAfter(
  state: State,
  model: Model,
  instance: Instance,
  resident: DeviceBytes,
  takenAt: Millis,
  readings: readonly DeviceReading[],
  isSeen: boolean,
): DeviceBytes {
  if (instance.restingSince === null || takenAt < instance.restingSince) return largerOf(instance.claim, resident);
  const claim: Record<DeviceName, Bytes> = { ...instance.claim };
  for (const reading of readings) {
    const { name, attributed } = reading;
    if (!Object.hasOwn(claim, name)) continue;
    if (attributed && isSeen) claim[name] = bytesOn(resident, name);
    else if (!attributed && isBack(state, reading, takenAt)) {
      claim[name] = keptBefore(model, instance, name, takenAt) ?? bytesOn(claim, name);
    }
  }
  return largerOf(claim, resident);
}

/** What it kept on a device in an earlier rest, once it has had time to come to that; null where that is not known. */
function keptBefore(model: Model, instance: Instance, device: DeviceName, takenAt: Millis): Bytes | null {
  if (isOutdated(instance, model) || !hasSettledAtRest(instance, takenAt)) return null;
  const kept = Object.hasOwn(model.rested ?? {}, device) ? bytesOn(model.rested ?? {}, device) : null;
  return kept === null ? null : Math.min(kept, bytesOn(instance.claim, device));
}

/**
 * True where no more is in use than others use, and ours would hold there if all that rest had come to what they kept
 * before. While anything else of ours comes or goes there, nobody can tell.
 */
function isBack(state: State, { name, usedBytes }: DeviceReading, takenAt: Millis): boolean {
  if (state.releases.some(({ held }) => bytesOn(held, name) > 0)) return false;
  let expected = state.devices[name]?.externalBytes ?? 0;
  for (const [id, instance] of runningOf(state)) {
    const model = state.models[id];
    const claim = bytesOn(instance.claim, name);
    if (model === undefined || claim === 0) continue;
    const kept = keptBefore(model, instance, name, takenAt);
    if (kept === null && !isSettled(instance, takenAt)) return false;
    expected += kept ?? claim;
  }
  return usedBytes <= expected;
}

/** What it keeps at rest: memory that only its exit gives back. Where that is not seen now, what was seen before stays. */
export function learnFromRest(turn: Turn, id: ModelId, instance: Instance, resident: DeviceBytes): void {
  if (Object.keys(resident).length === 0) return;
  const before = modelOf(turn.state, id)?.rested ?? {};
  const unseen = Object.entries(before).filter(([name]) => {
    return Object.hasOwn(instance.claim, name) && !Object.hasOwn(resident, name);
  });
  const rested = { ...Object.fromEntries(unseen), ...resident };
  if (sameAmounts(rested, before)) return;
  patchModel(turn, id, { rested });
  remember(turn, id);
}
