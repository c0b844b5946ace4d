import { bytesOn } from './amounts.js';
import type { Decision, DecisionKind } from './decisions.js';
import type { Event, ForeignProcess } from './events.js';
import { segmentsOf } from './project.js';
import { releasesAsSeen } from './releases.js';
import type { DeviceSegment } from './snapshot.js';
import type { State } from './state.js';
import { MIB, type Bytes, type DeviceName, type Millis, type ModelId } from './units.js';

/** What happened on a device within some time: somebody took memory there or gave it back. */
export interface MemoryChange {
  readonly at: Millis;
  /** The end of the change; one that was seen in a single sample ends where it begins. */
  readonly until: Millis;
  readonly device: DeviceName;
  /** Null: programs that are not ours. */
  readonly model: ModelId | null;
  readonly fromBytes: Bytes;
  readonly toBytes: Bytes;
}

/** What was decided meanwhile. */
export interface DecisionNote {
  readonly at: Millis;
  readonly number: number;
  readonly kind: DecisionKind;
  readonly sentence: string;
}

/** Who held a device. */
export interface Holders {
  readonly device: DeviceName;
  readonly segments: readonly DeviceSegment[];
  readonly foreign: readonly ForeignProcess[];
}

/** How it came that an instance ran out of memory; its decision has the ledger and who could have left. */
export interface OutOfMemoryReport {
  /** Number of the decision. */
  readonly decision: number;
  readonly at: Millis;
  readonly model: ModelId;
  /** Where memory ran out, when the log says so, and how much was asked for there. */
  readonly device: DeviceName | null;
  readonly askedBytes: Bytes | null;
  /** What it was seen to hold there, and what it had been admitted with. */
  readonly residentBytes: Bytes;
  readonly claimBytes: Bytes;
  /** Whose memory it was at that moment, on each device of the record: ours, and the largest of others where they are known. */
  readonly holders: readonly Holders[];
  /** The minute before, oldest first, on the devices that it used. */
  readonly changes: readonly MemoryChange[];
  readonly decisions: readonly DecisionNote[];
}

/** What is remembered of the last minute, and the reports that were made of it. */
export interface MemoryHistory {
  readonly changes: readonly MemoryChange[];
  readonly decisions: readonly DecisionNote[];
  /** Bytes as they were last told, by device and model. */
  readonly told: Readonly<Record<string, Bytes>>;
  /** The latest, oldest first. */
  readonly reports: readonly OutOfMemoryReport[];
}

export const NO_HISTORY: MemoryHistory = { changes: [], decisions: [], told: {}, reports: [] };

export const HISTORY_MILLIS: Millis = 60_000;
const KEPT_CHANGES = 300;
const KEPT_NOTES = 60;
export const KEPT_REPORTS = 5;

/** Less is the breathing of drivers and desktops. */
const LEAST_BYTES: Bytes = 64 * MIB;

/** Steps of the same growth come at least this often. */
const STEP_MILLIS: Millis = 3_000;

/**
 * The history after one more turn of the scheduler. It is no part of the state: nothing is decided by it, and it can be
 * made again from a journal.
 */
export function nextHistory(
  history: MemoryHistory,
  event: Event,
  before: State,
  after: State,
  decisions: readonly Decision[],
): MemoryHistory {
  const seen = event.type === 'sample' ? withChanges(history, after) : history;
  if (decisions.length === 0) return seen;
  const since = after.now - HISTORY_MILLIS;
  const notes = decisions
    .filter(({ kind }) => kind !== 'measure')
    .map(({ at, number, kind, sentence }) => ({ at, number, kind, sentence }));
  const noted = {
    ...seen,
    decisions: [...seen.decisions, ...notes].filter(({ at }) => at >= since).slice(-KEPT_NOTES),
  };
  const ranOut = decisions.find(({ kind }) => kind === 'out-of-memory');
  if (ranOut === undefined || event.type !== 'exited') return noted;
  return { ...noted, reports: [...noted.reports, reportOf(noted, event, before, ranOut)].slice(-KEPT_REPORTS) };
}

function withChanges(history: MemoryHistory, { models, devices, now }: State): MemoryHistory {
  const told: Record<string, Bytes> = {};
  const isNew = history.told === NO_HISTORY.told;
  let changes: MemoryChange[] = [];
  const look = (device: DeviceName, model: ModelId | null, bytes: Bytes): void => {
    const key = keyOf(device, model);
    const known = history.told[key] ?? (isNew && model === null ? bytes : 0);
    const isNews = Math.abs(bytes - known) >= LEAST_BYTES || (bytes === 0 && known > 0);
    told[key] = isNews ? bytes : known;
    if (isNews) changes.push({ at: now, until: now, device, model, fromBytes: known, toBytes: bytes });
  };
  // Those that hold memory, or did when it was last told; a catalog may be far longer, and samples come often.
  const before = new Set(Object.keys(history.told).map(modelOfKey));
  const concerned = Object.entries(models).filter(([id, { instance }]) => instance !== null || before.has(id));
  for (const device of Object.values(devices)) {
    look(device.name, null, device.externalBytes);
    for (const [id, { instance }] of concerned) {
      const bytes = instance === null ? 0 : bytesOn(instance.resident, device.name);
      if (bytes > 0 || history.told[keyOf(device.name, id)] !== undefined) look(device.name, id, bytes);
    }
  }
  for (const [key, bytes] of Object.entries(told)) if (bytes === 0 && modelOfKey(key) !== null) delete told[key];
  if (changes.length === 0) return { ...history, told };
  const recent = history.changes.filter(({ until }) => until >= now - HISTORY_MILLIS);
  const kept = [...recent];
  changes = changes.filter((change) => !extendLast(kept, change));
  return { ...history, told, changes: [...kept, ...changes].slice(-KEPT_CHANGES) };
}

function keyOf(device: DeviceName, model: ModelId | null): string {
  return JSON.stringify([device, model]);
}

function modelOfKey(key: string): ModelId | null {
  return (JSON.parse(key) as readonly [DeviceName, ModelId | null])[1];
}

/** One more step of what was going on: true when it was taken up into the latest change of the same kind. */
function extendLast(changes: MemoryChange[], { device, model, fromBytes, toBytes, until }: MemoryChange): boolean {
  const index = changes.findLastIndex((known) => known.device === device && known.model === model);
  const last = changes[index];
  if (last === undefined || until - last.until > STEP_MILLIS || last.toBytes !== fromBytes) return false;
  if (Math.sign(last.toBytes - last.fromBytes) !== Math.sign(toBytes - fromBytes)) return false;
  changes[index] = { ...last, until, toBytes };
  return true;
}

function reportOf(
  history: MemoryHistory,
  event: Extract<Event, { type: 'exited' }>,
  before: State,
  decision: Decision,
): OutOfMemoryReport {
  const instance = before.models[event.model]?.instance ?? null;
  const names = new Set([...Object.keys(instance?.claim ?? {}), ...(event.device === null ? [] : [event.device])]);
  const shown = event.device === null ? [...names] : [event.device];
  const sum = (of: Readonly<Record<DeviceName, Bytes>>): Bytes =>
    shown.reduce((total, name) => total + bytesOn(of, name), 0);
  const seen = { ...before, releases: releasesAsSeen(before) };
  return {
    decision: decision.number,
    at: decision.at,
    model: event.model,
    device: event.device,
    askedBytes: event.askedBytes,
    residentBytes: sum(instance?.resident ?? {}),
    claimBytes: sum(instance?.claim ?? {}),
    holders: [...names].map((device) => ({
      device,
      segments: segmentsOf(seen, device),
      foreign: before.devices[device]?.foreign ?? [],
    })),
    changes: history.changes.filter(({ device, until }) => names.has(device) && until >= decision.at - HISTORY_MILLIS),
    decisions: history.decisions,
  };
}
