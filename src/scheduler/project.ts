import { bytesOn } from './amounts.js';
import { inDeviceOrder } from './device-order.js';
import { claimFor, ledgerOf, partsOf, type Ledger } from './ledger.js';
import type {
  DeviceSegment,
  DeviceView,
  ModelView,
  ModelWord,
  QueueView,
  ReadDeviceView,
  SchedulerSnapshot,
  UnreadDeviceView,
} from './snapshot.js';
import type { Device, Instance, Model, QueueEntry, State, UnreadDevice } from './state.js';
import { modelOf } from './turn.js';
import type { DeviceName, ModelId } from './units.js';

/** What screens, the API and metrics see. Looking at it is not using it. */
export function project(state: State): SchedulerSnapshot {
  const ledger = ledgerOf(state);
  return {
    at: state.now,
    modelsMax: state.settings.modelsMax,
    devices: deviceViews(state, ledger),
    models: state.modelOrder.flatMap((id) => {
      const model = state.models[id];
      return model === undefined ? [] : [modelView(state.devices, model)];
    }),
    queue: state.queue.map(queueView),
    measureQueue: [...(state.measuring === null ? [] : [state.measuring.model]), ...state.measureQueue],
    measuringSince: state.measuring?.since ?? null,
    decisions: state.decisions,
    shuttingDown: state.shuttingDown,
  };
}

/** One model of what `project` shows; null for an unknown one. */
export function projectModel(state: State, id: ModelId): ModelView | null {
  const model = modelOf(state, id);
  return model === null ? null : modelView(state.devices, model);
}

function deviceViews(state: State, ledger: Ledger): readonly DeviceView[] {
  return inDeviceOrder<DeviceView>([
    ...Object.values(state.devices).map((device) => readView(state, ledger, device)),
    ...Object.entries(state.unread ?? {}).map(([name, trouble]) => unreadView(state, name, trouble)),
  ]);
}

function readView(state: State, ledger: Ledger, device: Device): ReadDeviceView {
  const account = ledger[device.name];
  const parts = account
    ? partsOf(account)
    : { heldBytes: 0, reservedBytes: 0, externalBytes: 0, freeBytes: device.totalBytes, overcommitBytes: 0 };
  return {
    name: device.name,
    kind: device.kind,
    description: device.description,
    totalBytes: device.totalBytes,
    ...parts,
    releasingBytes: Math.min(account?.releasingBytes ?? 0, parts.heldBytes),
    marginBytes: device.marginBytes,
    sampledAt: device.sample?.takenAt ?? null,
    attributed: device.sample?.attributed ?? false,
    source: device.source,
    remark: device.remark,
    foreign: device.foreign,
    problem: device.problem,
    problemSince: device.problemSince,
    segments: segmentsOf(state, device.name),
  };
}

function unreadView(state: State, name: DeviceName, { problem, problemSince }: UnreadDevice): UnreadDeviceView {
  return {
    name,
    kind: null,
    description: '',
    totalBytes: null,
    heldBytes: null,
    reservedBytes: null,
    externalBytes: null,
    freeBytes: null,
    releasingBytes: null,
    overcommitBytes: null,
    marginBytes: null,
    sampledAt: null,
    attributed: false,
    source: '',
    remark: '',
    foreign: [],
    problem,
    problemSince,
    segments: segmentsOf(state, name),
  };
}

/** Whose memory it is on a device: catalog order, then what is on its way back. */
export function segmentsOf(
  state: Pick<State, 'models' | 'modelOrder' | 'releases'>,
  device: string,
): readonly DeviceSegment[] {
  const segments: DeviceSegment[] = [];
  const add = (model: ModelId, part: DeviceSegment['part'], bytes: number): void => {
    if (bytes > 0) segments.push({ model, part, bytes });
  };
  for (const id of state.modelOrder) {
    const instance = state.models[id]?.instance;
    if (!instance) continue;
    const claim = bytesOn(instance.claim, device);
    const visible = instance.phase === 'loading' ? Math.min(claim, bytesOn(instance.resident, device)) : claim;
    add(id, 'held', visible);
    add(id, 'reserved', claim - visible);
  }
  for (const release of state.releases) add(release.model, 'releasing', bytesOn(release.held, device));
  return segments;
}

function modelView(devices: State['devices'], model: Model): ModelView {
  const { spec, instance } = model;
  const first = (model.measured ?? spec.placements)[0];
  const expected =
    first === undefined ? { claim: {}, claimQuality: 'estimate' as const } : claimFor(devices, model, first);
  const { claim, claimQuality } = instance ?? expected;
  return {
    id: spec.id,
    aliases: spec.aliases,
    word: wordOf(model, instance),
    pinned: model.pinned,
    blocked: model.blocked,
    invalid: spec.invalid,
    devices: Object.keys(claim).filter((name) => bytesOn(claim, name) > 0),
    claim,
    claimQuality,
    memory: { status: model.measure, measured: model.measured?.[0]?.need ?? null, observed: model.observed },
    resident: instance?.resident ?? {},
    contextTokens: instance?.contextTokens ?? null,
    generation: instance?.generation ?? null,
    pid: instance?.pid ?? null,
    requests: instance?.leases.length ?? 0,
    lastUsedAt: instance?.lastUsedAt ?? null,
    loadingSince: instance?.phase === 'loading' ? instance.spawnedAt : null,
    progress: instance?.progress ?? null,
    loadMillis: model.loadMillis,
    draining: (instance?.draining ?? null) !== null,
    hungSince: instance?.hungSince ?? null,
    lastStop: instance?.stopReason ?? instance?.draining ?? model.lastStop,
    lastExit: model.lastExit,
  };
}

function wordOf(model: Model, instance: Instance | null): ModelWord {
  if (instance !== null) return instance.phase;
  if (model.spec.invalid !== null) return 'invalid';
  return model.failures > 0 ? 'failed' : 'unloaded';
}

function queueView(entry: QueueEntry, index: number): QueueView {
  return {
    position: index + 1,
    model: entry.model,
    since: entry.since,
    waiters: entry.waiters.length,
    wantedBy: entry.waiters.length > 0 ? 'requests' : (entry.wanted ?? 'requests'),
    why: entry.why,
    decision: entry.decision,
  };
}
