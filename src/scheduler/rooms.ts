import { roomWhenAlone } from './ledger.js';
import { hadRoomAt } from './recent-room.js';
import type { State } from './state.js';
import type { Bytes, DeviceBytes, DeviceName, Millis } from './units.js';

/** What one model could have on a device that is too small for it. */
export interface Room {
  readonly device: DeviceName;
  readonly roomBytes: Bytes;
  readonly totalBytes: Bytes;
  readonly externalBytes: Bytes;
  readonly marginBytes: Bytes;
  /** Why the device cannot be read, so that these are its last figures; null: it can. */
  readonly problem: string | null;
  /** Whether it would be large enough if no other program were there. */
  readonly isForOthers: boolean;
  /** When it was large enough, if others have taken the room only of late; else null. */
  readonly hadRoomAt: Millis | null;
}

/** Devices that could not take the claim even with nothing else of ours on them. */
export function tooSmallFor(state: State, claim: DeviceBytes): readonly Room[] {
  return Object.entries(claim).flatMap(([name, need]) => {
    const device = state.devices[name];
    const roomBytes = roomWhenAlone(state.devices[name]);
    if (device === undefined || need <= roomBytes) return [];
    const { totalBytes, externalBytes, marginBytes, problem } = device;
    const isForOthers = need <= totalBytes - marginBytes;
    const figures = { device: name, roomBytes, totalBytes, externalBytes, marginBytes, problem };
    return [{ ...figures, isForOthers, hadRoomAt: hadRoomAt(state, device, need) }];
  });
}
