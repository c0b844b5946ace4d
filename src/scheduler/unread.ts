import { bytesOn } from './amounts.js';
import type { ProbeFailure } from './events.js';
import { layoutsOf } from './layouts.js';
import { limitsLoads } from './ledger.js';
import type { Device, Model, State, UnreadDevice } from './state.js';
import type { Turn } from './turn.js';
import type { DeviceName, Millis } from './units.js';

/** Why a device cannot be read, in its driver's words, and since when. */
export interface Trouble {
  readonly problem: string;
  readonly problemSince: Millis;
}

/**
 * What a failing probe served is kept as it was last seen: unknown is neither zero nor free. What it should have served,
 * but never could, is remembered by name, without any figure.
 */
export function takeFailures(turn: Turn, failures: readonly ProbeFailure[]): void {
  const before = turn.state.unread ?? {};
  const unread: Record<DeviceName, UnreadDevice> = {};
  const failing = new Set<DeviceName>();
  for (const { devices, message: problem, lasting = false } of failures) {
    for (const name of devices) {
      const device = turn.state.devices[name];
      if (device === undefined) {
        const problemSince = before[name]?.problemSince ?? turn.state.now;
        if (name !== '__proto__') unread[name] = { problem, problemSince, lasting };
      } else if (!lasting || device.sample !== null) {
        failing.add(name);
        turn.state.devices[name] = { ...device, problem, problemSince: device.problemSince ?? turn.state.now };
      }
    }
  }
  // Of a device that only children have told of no reading says that all is well again.
  for (const device of Object.values(turn.state.devices)) {
    if (device.sample !== null || device.problem === null || failing.has(device.name)) continue;
    turn.state.devices[device.name] = { ...device, problem: null, problemSince: null };
  }
  setUnread(turn, unread);
}

/** A device of which a child has told: it has a ledger from now on. What its probe says against it still counts. */
export function noLongerUnread(turn: Turn, device: Device): Device {
  const { [device.name]: trouble, ...others } = turn.state.unread ?? {};
  if (trouble === undefined) return device;
  setUnread(turn, others);
  const { problem, problemSince, lasting } = trouble;
  return lasting ? device : { ...device, problem, problemSince };
}

/** Why a device that limits loads cannot be read; null where it can, or memory limits nothing there. */
export function troubleWith(state: Pick<State, 'devices' | 'unread' | 'settings'>, name: DeviceName): Trouble | null {
  const device = state.devices[name];
  if (device === undefined) return state.settings.marginBytes > 0 ? (state.unread?.[name] ?? null) : null;
  const { problem, problemSince } = device;
  return limitsLoads(device) && problem !== null && problemSince !== null ? { problem, problemSince } : null;
}

/** A sample older than this says nothing of the moment; while anything runs there is one each second at least. */
const CURRENT_MILLIS: Millis = 3000;

/** Why it is not known what others hold on a device at this moment, in a few words; null where a probe has just read it. */
export function doubtAbout(state: State, name: DeviceName): string | null {
  const device = state.devices[name];
  if (device === undefined) return state.unread?.[name] === undefined ? null : `${name} has never been read`;
  const { sample, problem } = device;
  if (sample === null) return `no probe reads ${name}`;
  return problem !== null || state.now - sample.takenAt > CURRENT_MILLIS ? `${name} cannot be read` : null;
}

/**
 * True when a model could be laid out only where a driver does not answer: a child that measured it there would say
 * nothing of worth. Where no probe will ever answer, it is the one that can tell.
 */
export function waitsForDriver(state: State, model: Model): boolean {
  if (model.instance !== null || state.settings.admission === 'proceed') return false;
  // Nearly always, and catalogs are long.
  if (state.unread === undefined && Object.values(state.devices).every(({ problem }) => problem === null)) return false;
  return layoutsOf(state, model).every(({ need }) => {
    return Object.keys(need).some((name) => {
      return bytesOn(need, name) > 0 && troubleWith(state, name) !== null && state.unread?.[name]?.lasting !== true;
    });
  });
}

function setUnread(turn: Turn, unread: Readonly<Record<DeviceName, UnreadDevice>>): void {
  if (Object.keys(unread).length > 0) turn.state.unread = unread;
  else delete turn.state.unread;
}
