import type { TimerName } from './events.js';
import { sayAmounts, sayList } from './explain.js';
import type { Release } from './state.js';
import { note, type Turn } from './turn.js';
import type { DeviceName } from './units.js';

/** What a child has left was not seen to come back within its time: it is no longer counted for it. */
export function writeOffRelease(turn: Turn, timer: Extract<TimerName, { kind: 'release' }>): void {
  const isIt = (release: Release): boolean => release.generation === timer.generation && release.model === timer.model;
  const release = turn.state.releases.find(isIt);
  if (release === undefined) return;
  turn.state.releases = turn.state.releases.filter((other) => !isIt(other));
  const unread = keepUnseen(turn, release);
  const after = Math.round((turn.state.now - release.exitedAt) / 1000);
  const what = `${release.model}: ${sayAmounts(release.held)} not seen to be back ${after} s after its exit`;
  const counted =
    unread.length === 0
      ? "; counting it as free or as others' from now on"
      : `, since ${sayList(unread)} could not be read meanwhile; counting it as others' until somebody has looked`;
  note(turn, 'notice', release.model, what + counted);
}

/**
 * Where a probe has not been heard since the exit, nothing says that the memory is free: it counts as others' until one is.
 * Returns the names of these devices.
 */
function keepUnseen(turn: Turn, { held, exitedAt }: Release): readonly DeviceName[] {
  const unread: DeviceName[] = [];
  for (const [name, bytes] of Object.entries(held)) {
    const device = turn.state.devices[name];
    if (device?.sample == null || device.sample.takenAt >= exitedAt) continue;
    unread.push(name);
    turn.state.devices[name] = { ...device, externalBytes: device.externalBytes + bytes };
  }
  return unread;
}
