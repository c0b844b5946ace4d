import { bytesOn, isAmount, largerOf } from './amounts.js';
import { claimFor, sameDeviceSet } from './ledger.js';
import { isOutdated, runningOf } from './running.js';
import type { Device, Instance, Model, State } from './state.js';
import { doubtAbout } from './unread.js';
import { HOST, type Bytes, type DeviceBytes, type DeviceName } from './units.js';

/**
 * How much more than what is known has to be claimed, after an instance has run out of memory. It needs at least what it
 * was seen to hold and what it then asked for, where the log says so; and more than what there was for it: had it needed
 * less than that, it would not have failed. Where it is not known what others held at that moment, nobody knows what there
 * was for it, and only what it asked for counts.
 * @param named where memory ran out, if that is known; else it was on the only accelerator that it used, if there was one
 * @param askedBytes a figure from a log: it may be anything, or null
 */
export function raisedAfter(
  state: State,
  model: Model,
  instance: Instance,
  named: DeviceName | null,
  askedBytes: Bytes | null,
): DeviceBytes | null {
  const name = named ?? onlyAccelerator(instance.claim);
  const device = name === null ? undefined : state.devices[name];
  if (name === null || device === undefined || isOutdated(instance, model)) return model.raised;
  const asked = askedBytes !== null && isAmount(askedBytes) ? bytesOn(instance.resident, name) + askedBytes : 0;
  const room = doubtAbout(state, name) === null ? roomBeside(state, instance, device) + 1 : 0;
  const wanted = Math.max(Math.min(asked, device.totalBytes), room);
  if (wanted === 0) return model.raised;
  const more = Math.max(0, wanted - knownNeed(state, model, instance, name));
  return largerOf(model.raised ?? {}, { [name]: more });
}

/** An instance is seen to hold more than what is known of its model: a later load, on whichever devices, needs as much. */
export function raisedBySight(
  state: State,
  model: Model,
  instance: Instance,
  resident: DeviceBytes,
): DeviceBytes | null {
  const more = Object.keys(instance.claim).flatMap((name) => {
    if (name === HOST || bytesOn(resident, name) <= bytesOn(instance.claim, name)) return [];
    return [[name, bytesOn(resident, name) - knownNeed(state, model, instance, name)] as const];
  });
  return more.length === 0 ? model.raised : largerOf(model.raised ?? {}, Object.fromEntries(more));
}

function onlyAccelerator(claim: DeviceBytes): DeviceName | null {
  const used = Object.keys(claim).filter((name) => name !== HOST && bytesOn(claim, name) > 0);
  return used.length === 1 ? (used[0] ?? null) : null;
}

/** What the device had for this instance: all that nobody else used or had been promised. */
function roomBeside(state: State, { generation }: Instance, { name, totalBytes, externalBytes }: Device): Bytes {
  let others = 0;
  for (const [, other] of runningOf(state)) {
    if (other.generation !== generation) others += bytesOn(other.claim, name);
  }
  for (const release of state.releases) {
    if (release.generation !== generation) others += bytesOn(release.held, name);
  }
  return Math.max(0, totalBytes - externalBytes - others);
}

/** What it would be claimed for in the same layout if it had not been raised. */
function knownNeed(state: State, model: Model, instance: Instance, name: DeviceName): Bytes {
  return needWhenRaised(state, { ...model, raised: null }, instance, name);
}

/** What the model would be claimed for now in the layout that the instance had. */
export function needWhenRaised(state: State, model: Model, { claim }: Instance, name: DeviceName): Bytes {
  const placements = model.measured ?? model.spec.placements;
  const same = placements.find(({ need }) => sameDeviceSet(need, claim));
  return bytesOn(same === undefined ? claim : claimFor(state.devices, model, same).claim, name);
}
