import { limitsLoads } from './ledger.js';
import type { Device, State } from './state.js';
import type { Turn } from './turn.js';
import type { Bytes, DeviceName, Millis } from './units.js';

/** What other programs took less than this ago they may give back as soon: a compiler, another server that starts. */
export const MOMENT_MILLIS: Millis = 30_000;

/** Keeps the most that other programs have left of a device of late; called whenever it has been read. */
export function rememberRoom(turn: Turn, name: DeviceName): void {
  const { devices, now } = turn.state;
  const device = devices[name];
  if (device === undefined || !limitsLoads(device)) return;
  const bytes = Math.max(0, device.totalBytes - device.externalBytes);
  if (leftOfLate(device, now) > bytes) return;
  devices[name] = { ...device, recentRoom: { bytes, at: now } };
}

function leftOfLate({ recentRoom }: Device, now: Millis): Bytes {
  return recentRoom === undefined || now - recentRoom.at > MOMENT_MILLIS ? 0 : recentRoom.bytes;
}

/** When a device that is too small now had room for so much, if that was of late; else null. */
export function hadRoomAt({ now }: Pick<State, 'now'>, device: Device, bytes: Bytes): Millis | null {
  const { recentRoom, marginBytes } = device;
  return recentRoom !== undefined && leftOfLate(device, now) - marginBytes >= bytes ? recentRoom.at : null;
}
