import type { DeviceView, Millis } from '../../src/client/types.js';
import type { ScreenView } from '../view.js';
import { staleText } from './format.js';
import { isLost } from './last-known.js';

/** A sample older than this no longer says what is. */
const STALE_MILLIS = 3_000;

/** Why the figures of a device are less than they seem. */
export interface Doubt {
  /** `unread`: there are none; `no probe`: children have told them; `stale`: they are old. */
  readonly word: 'unread' | 'no probe' | 'stale';
  /** For how long; null where that is not the point. */
  readonly millis: Millis | null;
}

/** What must be known of the figures of a device before they are believed; null: they are up to date. */
export function doubtAbout(device: DeviceView, now: Millis): Doubt | null {
  if (device.totalBytes === null) return { word: 'unread', millis: now - device.problemSince };
  if (device.sampledAt === null) return { word: 'no probe', millis: null };
  const age = now - device.sampledAt;
  return device.problem !== null || age > STALE_MILLIS ? { word: 'stale', millis: age } : null;
}

/** The same on a screen, where all that was read is stale once nobody answers: since when is that of the connection. */
export function doubtShown(device: DeviceView, view: Pick<ScreenView, 'now' | 'connection'>): Doubt | null {
  return isLost(view) && device.sampledAt !== null ? { word: 'stale', millis: null } : doubtAbout(device, view.now);
}

/** E.g. `stale 4s`. */
export function doubtText({ word, millis }: Doubt): string {
  return millis === null ? word : `${word} ${staleText(millis)}`;
}

/** True of a device whose driver hides who holds what: what models hold there is known by their claims only. */
export function isKnownByClaims({ kind, attributed }: Pick<DeviceView, 'kind' | 'attributed'>): boolean {
  return !attributed && kind !== 'host';
}
