import type { DeviceReading, Event, InstanceReading, ProbeFailure } from '../scheduler/events.js';
import type { Millis } from '../scheduler/units.js';

export type SampleEvent = Extract<Event, { type: 'sample' }>;

/** An item of a list against the item at the same place before: the same, with some fields changed, or a new one. */
type ItemDelta<T> = 0 | { readonly set: Partial<T> } | { readonly all: T };

/** A sample against the one before it; a list that is not there is as it was. */
export interface SampleLine {
  /** `at` and `takenAt` of the event. */
  readonly sample: readonly [Millis, Millis];
  readonly devices?: readonly ItemDelta<DeviceReading>[];
  readonly instances?: readonly ItemDelta<InstanceReading>[];
  /** Whole, since they are rare. */
  readonly failures?: readonly ProbeFailure[];
}

/** What changed from one sample to the next; `previous` is null for the first of a file. */
export function encodeSample(previous: SampleEvent | null, event: SampleEvent): SampleLine {
  const { at, type: _, takenAt, devices, instances, failures, ...rest } = event;
  // A field that is added to the event has to be added here, or would be lost.
  rest satisfies Record<string, never>;
  const deviceDelta = encodeList(previous?.devices ?? [], devices);
  const instanceDelta = encodeList(previous?.instances ?? [], instances);
  return {
    sample: [at, takenAt],
    ...(deviceDelta === null ? {} : { devices: deviceDelta }),
    ...(instanceDelta === null ? {} : { instances: instanceDelta }),
    ...(failures === undefined ? {} : { failures }),
  };
}

/** The event that was encoded, byte for byte as JSON. Throws TypeError on a line that does not fit the sample before. */
export function decodeSample(previous: SampleEvent | null, line: SampleLine): SampleEvent {
  const [at, takenAt] = line.sample;
  return {
    at,
    type: 'sample',
    takenAt,
    devices: decodeList(previous?.devices ?? [], line.devices),
    instances: decodeList(previous?.instances ?? [], line.instances),
    ...(line.failures === undefined ? {} : { failures: line.failures }),
  };
}

/** Null when both lists are the same. */
function encodeList<T extends object>(before: readonly T[], after: readonly T[]): readonly ItemDelta<T>[] | null {
  const deltas = after.map((item, index) => encodeItem(before[index], item));
  return before.length === after.length && deltas.every((delta) => delta === 0) ? null : deltas;
}

function encodeItem<T extends object>(before: T | undefined, after: T): ItemDelta<T> {
  if (before === undefined || Object.keys(before).join('\n') !== Object.keys(after).join('\n')) return { all: after };
  const known = new Map(Object.entries(before));
  const changed = Object.entries(after).filter(([key, value]) => !sameJson(known.get(key), value));
  return changed.length === 0 ? 0 : { set: Object.fromEntries(changed) as Partial<T> };
}

function decodeList<T extends object>(before: readonly T[], deltas: readonly ItemDelta<T>[] | undefined): readonly T[] {
  return deltas === undefined ? before : deltas.map((delta, index) => decodeItem(before[index], delta));
}

function decodeItem<T extends object>(before: T | undefined, delta: ItemDelta<T>): T {
  if (delta !== 0 && 'all' in delta) return delta.all;
  if (before === undefined) throw new TypeError('a sample refers to one that is not there');
  // Known keys keep their places, so that the order of the fields stays as it was.
  return delta === 0 ? before : { ...before, ...delta.set };
}

function sameJson(a: unknown, b: unknown): boolean {
  return Object.is(a, b) || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b));
}
