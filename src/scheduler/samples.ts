import { believable, bytesOn, isAmount, largerOf, sameAmounts, sumOf } from './amounts.js';
import type { DeviceReading, EventBody } from './events.js';
import { sayAmounts, sayDuration } from './explain.js';
import { tellGrowth } from './growth.js';
import { ledgerOf, sameDeviceSet } from './ledger.js';
import { setMargins } from './margins.js';
import { raisedBySight } from './raised.js';
import { rememberRoom } from './recent-room.js';
import { newDevice } from './reports.js';
import { claimAfter, hasSettledAtRest, learnFromRest } from './rest.js';
import { isOutdated, runningOf } from './running.js';
import { isOfInstance, returnedBytes } from './releases.js';
import type { Device, Instance, Model, Release } from './state.js';
import { inTransition, isSettled } from './transition.js';
import { modelOf, note, patchInstance, patchModel, remember, type Turn } from './turn.js';
import { takeFailures } from './unread.js';
import { HOST, type Bytes, type DeviceBytes, type DeviceName, type Millis, type ModelId } from './units.js';

/** Share of an exited instance's memory that must be back, where nobody can say whose memory it is any more. */
const RETURNED_SHARE = 0.8;

/** Share of system memory that comes and goes by itself: it must not be taken for memory that is not back yet. */
const HOST_NOISE_SHARE = 0.02;

type SampleEvent = Extract<EventBody, { type: 'sample' }>;

/** Takes in what the probes saw: residency of ours, memory that came back, and what is left for others. */
export function onSample(turn: Turn, event: SampleEvent): void {
  const readings = event.devices.filter(isBelievable);
  const resident = residencyOf(turn, event);
  for (const reading of readings) addDevice(turn, reading);
  updateMeasuring(turn, resident);
  takeFailures(turn, event.failures ?? []);
  for (const id of turn.state.running) updateResidency(turn, id, event.takenAt, readings, resident);
  confirmReleases(turn, event.takenAt, readings, resident);
  for (const reading of readings) updateExternal(turn, reading, event.takenAt, resident);
  for (const { name } of readings) rememberRoom(turn, name);
}

function isBelievable(reading: DeviceReading): boolean {
  return isAmount(reading.totalBytes) && reading.totalBytes > 0 && isAmount(reading.usedBytes);
}

/** Bytes by `model generation`; only of generations that are ours, running or just gone. */
type Residency = ReadonlyMap<string, DeviceBytes>;

function residencyOf(turn: Turn, event: SampleEvent): Residency {
  const known = new Set<string>(turn.state.releases.map((release) => keyOf(release.model, release.generation)));
  for (const [id, instance] of runningOf(turn.state)) known.add(keyOf(id, instance.generation));
  const { measuring } = turn.state;
  if (measuring !== null) known.add(keyOf(measuring.model, measuring.generation ?? 0));
  const residency = new Map<string, DeviceBytes>();
  for (const reading of event.instances) {
    const key = keyOf(reading.model, reading.generation);
    if (known.has(key)) residency.set(key, believable(reading.resident));
  }
  return residency;
}

function keyOf(model: ModelId, generation: number): string {
  return `${generation} ${model}`;
}

/** A device is known from its first report; its total and description follow later ones. */
function addDevice(turn: Turn, reading: DeviceReading): void {
  const { name, kind, description, totalBytes, source = '', remark = '', foreign = [] } = reading;
  const known = turn.state.devices[name];
  const device: Device = known ?? newDevice(name, kind, totalBytes);
  const read = { source, remark, foreign, problem: null, problemSince: null };
  turn.state.devices[name] = { ...device, kind, description, totalBytes, ...read };
  if (known === undefined) setMargins(turn);
}

/** A measuring child is counted for no less than it is seen to hold. */
function updateMeasuring(turn: Turn, residency: Residency): void {
  const { measuring } = turn.state;
  const seen = measuring === null ? undefined : residency.get(keyOf(measuring.model, measuring.generation ?? 0));
  if (measuring === null || seen === undefined) return;
  const claim = largerOf(measuring.claim ?? {}, seen);
  if (!sameAmounts(claim, measuring.claim ?? {})) turn.state.measuring = { ...measuring, claim };
}

/** What is seen of an instance; its claim is never below it. On devices without attribution it stays unknown. */
function updateResidency(
  turn: Turn,
  id: ModelId,
  takenAt: Millis,
  readings: readonly DeviceReading[],
  residency: Residency,
): void {
  const model = modelOf(turn.state, id);
  const instance = model?.instance;
  if (!model || !instance || instance.spawnedAt > takenAt) return;
  // One that is in no list is not known to hold nothing: it may have died, and its exit not be seen yet.
  const seen = residency.get(keyOf(id, instance.generation)) ?? null;
  const resident: Record<DeviceName, Bytes> = { ...instance.resident };
  for (const { name, attributed } of readings) {
    if (!attributed) delete resident[name];
    else if (seen === null) continue;
    else if (bytesOn(seen, name) > 0 || bytesOn(instance.claim, name) > 0) resident[name] = bytesOn(seen, name);
  }
  const claim = claimAfter(turn.state, model, instance, resident, takenAt, readings, seen !== null);
  if (!sameAmounts(resident, instance.resident) || !sameAmounts(claim, instance.claim)) {
    const awake = instance.restingSince === null ? { awakeClaim: claim } : {};
    patchInstance(turn, id, { resident, claim, ...awake });
  }
  tellGrowth(turn, id, takenAt);
  if (isOutdated(instance, model)) return;
  const raised = instance.restingSince === null ? raisedBySight(turn.state, model, instance, resident) : model.raised;
  if (raised !== model.raised) patchModel(turn, id, { raised });
  if (seen === null) return;
  if (hasSettledAtWork(instance, takenAt)) learnFromWork(turn, id, resident);
  if (hasSettledAtRest(instance, takenAt)) learnFromRest(turn, id, instance, resident);
}

/** What is seen at work is better than what was guessed, and gives back what was claimed in vain. */
function learnFromWork(turn: Turn, id: ModelId, resident: DeviceBytes): void {
  const model = modelOf(turn.state, id);
  if (!model?.instance) return;
  const { claim: before } = model.instance;
  const observed = largerOf(model.observed ?? {}, resident);
  const guessed = model.raised !== null && isSeenWhole(before, resident);
  if (sameAmounts(observed, model.observed ?? {}) && !guessed) return;
  patchModel(turn, id, { observed, ...(guessed ? { raised: null } : {}) });
  if (guessed) {
    const claim = withoutGuess(model, before, observed);
    patchInstance(turn, id, { claim, awakeClaim: claim });
  }
  remember(turn, id);
}

/** True when a probe knows what it holds wherever it is counted. */
function isSeenWhole(claim: DeviceBytes, resident: DeviceBytes): boolean {
  return Object.keys(claim).every((name) => name === HOST || Object.hasOwn(resident, name));
}

/** What is known without the guess: what it was expected to need and what it was seen to hold, whichever is more. */
function withoutGuess(model: Model, claim: DeviceBytes, observed: DeviceBytes): DeviceBytes {
  const placements = model.measured ?? model.spec.placements;
  const expected = placements.find(({ need }) => sameDeviceSet(need, claim))?.need ?? claim;
  const known = largerOf(expected, observed);
  return Object.fromEntries(
    Object.entries(claim).map(([name, bytes]) => [name, Math.min(bytes, bytesOn(known, name))]),
  );
}

/**
 * Peaks count from the first work: before it, memory that is only touched by use is not there yet. A sample of one that
 * has only just come up, or woken, may show a part of it, and a part must not be remembered as the whole.
 */
function hasSettledAtWork(instance: Instance, takenAt: Millis): boolean {
  const { readyAt, lastUsedAt } = instance;
  return readyAt !== null && lastUsedAt > readyAt && isSettled(instance, takenAt);
}

function confirmReleases(turn: Turn, takenAt: Millis, readings: readonly DeviceReading[], residency: Residency): void {
  if (turn.state.releases.length === 0) return;
  const kept: Release[] = [];
  for (const release of turn.state.releases) {
    const held = takenAt <= release.exitedAt ? release.held : stillHeld(turn, release, readings, residency);
    if (Object.keys(held).length > 0) {
      kept.push({ ...release, held });
      continue;
    }
    if (!isOfInstance(release)) continue;
    const after = `${sayDuration(turn.state.now - release.exitedAt)} after its exit`;
    const returned = returnedBytes(release, readings);
    const back = sumOf(returned) > 0 ? `${sayAmounts(returned)} back` : 'nothing of it is left';
    note(turn, 'release', release.model, `${release.model}: ${back} ${after}`);
  }
  turn.state.releases = kept;
}

function stillHeld(
  turn: Turn,
  release: Release,
  readings: readonly DeviceReading[],
  residency: Residency,
): DeviceBytes {
  const seen = residency.get(keyOf(release.model, release.generation)) ?? {};
  return Object.fromEntries(
    Object.entries(release.held).filter(([name, held]) => {
      const reading = readings.find((other) => other.name === name);
      if (reading === undefined) return true;
      const wasResident = bytesOn(release.resident, name) || held;
      if (!reading.attributed) {
        const returned = bytesOn(release.usedBefore, name) - reading.usedBytes;
        return returned < RETURNED_SHARE * wasResident;
      }
      if (bytesOn(seen, name) > 0) return true;
      const nobodys = unattributed(turn, reading, residency).most - (turn.state.devices[name]?.externalBytes ?? 0);
      const noise = reading.kind === 'host' ? HOST_NOISE_SHARE * reading.totalBytes : 0;
      return nobodys > Math.max(noise, (1 - RETURNED_SHARE) * wasResident);
    }),
  );
}

/** What is in use and not seen to be ours: what others use, and what may still be ours. */
function unattributed(
  turn: Turn,
  { name, usedBytes }: DeviceReading,
  residency: Residency,
): { most: Bytes; least: Bytes } {
  let seen = 0;
  for (const resident of residency.values()) seen += bytesOn(resident, name);
  // A process is gone from the lists before its exit is told, and before its memory is back.
  let unseen = 0;
  for (const [id, instance] of runningOf(turn.state)) {
    if (!residency.has(keyOf(id, instance.generation))) unseen += bytesOn(instance.resident, name);
  }
  for (const { model, generation, held } of turn.state.releases) {
    if (bytesOn(residency.get(keyOf(model, generation)) ?? {}, name) === 0) unseen += bytesOn(held, name);
  }
  const most = Math.max(0, usedBytes - seen);
  return { most, least: Math.max(0, most - unseen) };
}

/**
 * What is used by others. Where processes can be told apart it is what is left over, sample by sample. Where only a
 * total is known it is what goes beyond the claims, and may rise but not fall while anything is coming or going there.
 */
function updateExternal(turn: Turn, reading: DeviceReading, takenAt: Millis, residency: Residency): void {
  const device = turn.state.devices[reading.name];
  if (device === undefined) return;
  const { name, usedBytes, attributed } = reading;
  let externalBytes: Bytes;
  if (attributed) {
    const { most, least } = unattributed(turn, reading, residency);
    externalBytes = Math.min(most, Math.max(least, device.externalBytes));
  } else {
    const account = ledgerOf(turn.state)[name];
    const beyondClaims = Math.max(0, usedBytes - (account?.heldBytes ?? 0) - (account?.reservedBytes ?? 0));
    const atLeast = inTransition(turn.state, name, takenAt) ? device.externalBytes : 0;
    externalBytes = Math.max(atLeast, beyondClaims);
  }
  turn.state.devices[name] = { ...device, externalBytes, sample: { takenAt, usedBytes, attributed } };
}
