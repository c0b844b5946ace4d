import { bytesOn } from './amounts.js';
import { runningOf } from './running.js';
import type { Instance, State } from './state.js';
import type { DeviceName, Millis } from './units.js';

/** How long a child that came up or went to rest may take until it is seen to hold no more and no less than it keeps. */
export const SETTLING_MILLIS: Millis = 2000;

/** True when a sample shows all that an instance has taken to come up, or to wake, and it is up. */
export function isSettled({ phase, readyAt, wokeAt }: Instance, takenAt: Millis): boolean {
  return phase === 'ready' && readyAt !== null && takenAt >= (wokeAt ?? readyAt) + SETTLING_MILLIS;
}

/** True when a sample of that time may show more of ours on the device, or less, than they claim. */
export function inTransition(state: State, device: DeviceName, takenAt: Millis): boolean {
  if (state.releases.some((release) => bytesOn(release.held, device) > 0)) return true;
  return runningOf(state).some(([, instance]) => {
    // At rest it holds less than it claims.
    return bytesOn(instance.claim, device) > 0 && !isSettled(instance, takenAt);
  });
}
