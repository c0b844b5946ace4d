import { bytesOn } from './amounts.js';
import type { DeviceReading } from './events.js';
import type { Instance, Measuring, Release, State } from './state.js';
import type { Turn } from './turn.js';
import type { DeviceBytes, ModelId } from './units.js';

/** A process of ours that has ended, and what it was counted for. */
type Gone = Pick<Instance, 'generation' | 'pid' | 'claim' | 'resident'> & { readonly model: ModelId };

/** Memory of a dead process comes back later than its exit is seen; until then it counts as held. */
export function holdUntilReleased(turn: Turn, { model, generation, pid, claim, resident }: Gone): void {
  const held = Object.fromEntries(
    Object.entries(claim).filter(([device, bytes]) => bytes > 0 && turn.state.devices[device]?.sample),
  );
  if (Object.keys(held).length === 0) return;
  const { now, settings, devices } = turn.state;
  const usedBefore = Object.fromEntries(Object.keys(held).map((name) => [name, devices[name]?.sample?.usedBytes ?? 0]));
  const release: Release = { model, generation, pid, exitedAt: now, held, resident, usedBefore };
  turn.state.releases = [...turn.state.releases, release];
  const timer = { kind: 'release', model, generation } as const;
  turn.effects.push({ type: 'look-at-devices' });
  turn.effects.push({ type: 'arm-timer', at: now + settings.releaseLimitMillis, timer });
}

/**
 * The same for the child that measured: what it leaves behind for a moment is nobody else's, and no reason to call a model
 * too large. Only where processes can be told apart, since it may have taken less than it was counted for.
 */
export function holdAfterMeasuring(turn: Turn, { model, generation = 0, claim = {} }: Measuring): void {
  const told = Object.entries(claim).filter(([device]) => turn.state.devices[device]?.sample?.attributed === true);
  holdUntilReleased(turn, { model, generation, pid: null, claim: Object.fromEntries(told), resident: {} });
}

/** What was seen to come back: all that it was seen to hold, or by how much less is in use where only that is known. */
export function returnedBytes(
  { resident, usedBefore }: Release,
  readings: readonly Pick<DeviceReading, 'name' | 'usedBytes' | 'attributed'>[],
): DeviceBytes {
  const returned = Object.entries(usedBefore).map(([name, before]): readonly [string, number] => {
    const reading = readings.find((other) => other.name === name);
    const seen = bytesOn(resident, name);
    if (seen > 0 || reading === undefined || reading.attributed) return [name, seen];
    return [name, Math.max(0, before - reading.usedBytes)];
  });
  return Object.fromEntries(returned.filter(([, bytes]) => bytes > 0));
}

/**
 * Releases for a record of what was: with what they were seen to hold, where it is known who holds what. A child that died
 * while it was loading is counted for all that it was admitted with, which it mostly never had.
 */
export function releasesAsSeen({ releases, devices }: Pick<State, 'releases' | 'devices'>): readonly Release[] {
  return releases.map((release) => ({
    ...release,
    held: Object.fromEntries(
      Object.entries(release.held).map(([name, bytes]) => [
        name,
        devices[name]?.sample?.attributed === true ? Math.min(bytes, bytesOn(release.resident, name)) : bytes,
      ]),
    ),
  }));
}

/** True for what an instance has left behind, and not a child that measured. */
export function isOfInstance({ generation }: Release): boolean {
  return generation > 0;
}
