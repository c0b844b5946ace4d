import { believable, bytesOn, isAmount, largerOf } from './amounts.js';
import type { Layout } from './admission.js';
import type { EventBody } from './events.js';
import { sayAmounts, sayDuration, sayStopReason } from './explain.js';
import type { ExitReport, Instance, Model, Release, StopReason } from './state.js';
import { retryMeasuring } from './measure.js';
import { dropEntry, rejectWaiters, wantPinned } from './queue.js';
import { takeReports } from './reports.js';
import {
  entryOf,
  instanceOf,
  modelOf,
  note,
  ownModels,
  patchInstance,
  patchModel,
  remember,
  type Turn,
} from './turn.js';
import type { DeviceBytes, Millis, ModelId } from './units.js';

/** Loads of one model that run out of memory, or lose their port, in a row before its waiters are told. */
const LOAD_TRIES = { 'out-of-memory': 2, 'port-in-use': 3 } as const;

const FIRST_BACKOFF_MILLIS = 1000;
const LONGEST_BACKOFF_MILLIS = 60_000;

/** Reserves what the layout needs and asks for a child of a new generation. */
export function startInstance(turn: Turn, model: Model, layout: Layout, beyondLimits: boolean): void {
  const generation = turn.state.nextGeneration;
  turn.state.nextGeneration += 1;
  const { now } = turn.state;
  const instance: Instance = {
    generation,
    phase: 'loading',
    pid: null,
    spawnedAt: now,
    readyAt: null,
    lastUsedAt: now,
    progress: null,
    contextTokens: null,
    claim: layout.claim,
    claimQuality: layout.claimQuality,
    awakeClaim: layout.claim,
    restingSince: null,
    beyondLimits: layout.squeezed || beyondLimits,
    resident: {},
    leases: [],
    draining: null,
    stopReason: null,
    fingerprint: model.spec.fingerprint,
  };
  turn.state.running = [...turn.state.running, model.spec.id];
  patchModel(turn, model.spec.id, { instance, lastStop: null });
  turn.effects.push({ type: 'spawn', model: model.spec.id, generation, devices: layout.devices });
}

/** Reserves what a sleeping or parked instance gave up and asks for it to come back: waking is a load. */
export function wakeInstance(turn: Turn, model: Model, beyondLimits: boolean): void {
  const { id } = model.spec;
  if (model.instance === null) return;
  const { awakeClaim, generation } = model.instance;
  patchInstance(turn, id, { phase: 'loading', claim: awakeClaim, restingSince: null, progress: null, beyondLimits });
  turn.effects.push({ type: 'wake', model: id, generation });
}

/** True for a child that has not been up yet: it does not read its messages. */
function isStarting(instance: Instance): boolean {
  return instance.phase === 'loading' && instance.readyAt === null;
}

/** From this moment the instance takes no lease; it counts until its exit is seen and its memory is back. */
export function stopInstance(turn: Turn, id: ModelId, reason: StopReason, timeoutMillis?: Millis): void {
  const model = modelOf(turn.state, id);
  if (!model?.instance || model.instance.phase === 'stopping') return;
  const { instance } = model;
  patchInstance(turn, id, { phase: 'stopping', stopReason: reason, draining: null });
  turn.effects.push({
    type: 'stop',
    model: id,
    generation: instance.generation,
    loading: isStarting(instance),
    timeoutMillis: timeoutMillis ?? model.spec.stopTimeoutMillis,
  });
}

/** Lets requests in flight end first; after `limitMillis` (null: no limit) it stops all the same. */
export function drainInstance(turn: Turn, id: ModelId, reason: StopReason, limitMillis: Millis | null): void {
  const instance = modelOf(turn.state, id)?.instance;
  if (!instance || instance.phase === 'stopping') return;
  if (instance.leases.length === 0) {
    stopInstance(turn, id, reason);
    return;
  }
  patchInstance(turn, id, { draining: reason });
  if (limitMillis !== null) {
    const timer = { kind: 'drain', model: id, generation: instance.generation } as const;
    turn.effects.push({ type: 'arm-timer', at: turn.state.now + limitMillis, timer });
  }
}

/** A pinned model never leaves by a decision: one that was about to, once its requests had ended, stays. */
export function keepPinned(turn: Turn, id: ModelId): void {
  if (modelOf(turn.state, id)?.instance?.draining?.kind === 'evicted') patchInstance(turn, id, { draining: null });
}

/** A child is up, or back from its rest. Says nothing about an instance that is already stopping. */
export function onReady(turn: Turn, event: Extract<EventBody, { type: 'ready' }>): void {
  const instance = instanceOf(turn.state, event.model, event.generation);
  if (instance === null) return;
  const { model: id } = event;
  switch (instance.phase) {
    case 'loading':
      if (instance.readyAt === null) becomeReady(turn, id, instance, event);
      else backFromRest(turn, id, instance);
      return;
    case 'sleeping':
    case 'parked':
      // It came back by itself: what it holds then is a fact, whether there was room for it or not.
      patchInstance(turn, id, { claim: instance.awakeClaim, restingSince: null });
      backFromRest(turn, id, instance);
      return;
    case 'ready':
    case 'stopping':
      return;
  }
}

function becomeReady(turn: Turn, id: ModelId, instance: Instance, event: Extract<EventBody, { type: 'ready' }>): void {
  const { now } = turn.state;
  const contextTokens = event.contextTokens ?? instance.contextTokens;
  const ready = { phase: 'ready', readyAt: now, lastUsedAt: now, progress: null, contextTokens } as const;
  patchInstance(turn, id, { ...ready, ...claimWhenReady(instance, event.effective) });
  const loadMillis = now - instance.spawnedAt;
  patchModel(turn, id, { failures: 0, retryAt: 0, loadMillis, lastExit: null });
  const { claim = instance.claim } = modelOf(turn.state, id)?.instance ?? {};
  note(turn, 'ready', id, `${id}: ready after ${sayDuration(loadMillis)}, holds ${sayAmounts(claim)}`);
  takeReports(turn, event.reports ?? [], id);
  retryMeasuring(turn, id);
  remember(turn, id);
}

function backFromRest(turn: Turn, id: ModelId, instance: Instance): void {
  patchInstance(turn, id, { phase: 'ready', progress: null, lastUsedAt: turn.state.now });
  note(turn, 'ready', id, `${id}: awake again, holds ${sayAmounts(instance.awakeClaim)}`);
}

/** What the child says it allocated replaces what was only expected, but never what was seen. */
function claimWhenReady(instance: Instance, effective: DeviceBytes | null): Partial<Instance> {
  const reported = effective === null ? {} : believable(effective);
  if (Object.keys(reported).length === 0 || instance.claimQuality === 'observed') return {};
  const claim = largerOf(reported, instance.resident);
  return { claim, awakeClaim: claim, claimQuality: 'effective' };
}

/** It has gone to rest by itself. With a request in flight it is about to wake again, and is left as it is. */
export function onResting(turn: Turn, event: Extract<EventBody, { type: 'sleeping' | 'parked' }>): void {
  const instance = instanceOf(turn.state, event.model, event.generation);
  if (instance?.phase !== 'ready' || instance.leases.length > 0) return;
  patchInstance(turn, event.model, { phase: event.type, awakeClaim: instance.claim, restingSince: turn.state.now });
}

/** A child's exit, in whichever phase; a second report of the same exit finds nothing. */
export function onExited(turn: Turn, event: Extract<EventBody, { type: 'exited' }>): void {
  const instance = instanceOf(turn.state, event.model, event.generation);
  const model = modelOf(turn.state, event.model);
  if (instance === null || model === null) return;

  holdUntilReleased(turn, event.model, instance);
  const report: ExitReport = {
    at: turn.state.now,
    generation: event.generation,
    duringLoad: isStarting(instance),
    exitClass: event.exitClass,
    exitCode: event.exitCode,
    signal: event.signal,
    reason: event.reason,
    device: event.device,
  };
  turn.state.running = turn.state.running.filter((id) => id !== event.model);
  patchModel(turn, event.model, { instance: null, lastExit: report, lastStop: instance.stopReason });
  if (instance.phase === 'stopping') afterStop(turn, event.model, instance);
  else afterFailure(turn, model, instance, report, event.askedBytes);
}

function afterStop(turn: Turn, id: ModelId, instance: Instance): void {
  const model = modelOf(turn.state, id);
  if (model?.removed) {
    delete ownModels(turn)[id];
    turn.state.modelOrder = turn.state.modelOrder.filter((other) => other !== id);
    return;
  }
  note(turn, 'exit', id, `${id}: stopped (${sayStopReason(instance.stopReason)})`);
  if (model?.pinned) wantPinned(turn, id);
}

function afterFailure(
  turn: Turn,
  model: Model,
  instance: Instance,
  report: ExitReport,
  askedBytes: number | null,
): void {
  const { id } = model.spec;
  const failures = model.failures + 1;
  const backoff = Math.min(LONGEST_BACKOFF_MILLIS, FIRST_BACKOFF_MILLIS * 2 ** (failures - 1));
  const outOfMemory = report.exitClass === 'out-of-memory';
  const again = report.duringLoad && mayTryAgain(report, failures) && entryOf(turn.state, id) !== null;
  patchModel(turn, id, {
    failures,
    retryAt: again ? turn.state.now : turn.state.now + backoff,
    raised: outOfMemory ? raisedClaim(turn, model, instance, report, askedBytes) : model.raised,
  });

  const when = report.duringLoad ? 'while loading' : 'while serving';
  const next = again ? '; trying once more' : '';
  const number = note(
    turn,
    outOfMemory ? 'out-of-memory' : 'exit',
    id,
    `${id}: ended ${when}: ${report.reason}${next}`,
  );
  if (report.duringLoad && !again) {
    rejectWaiters(turn, id, {
      status: 503,
      code: outOfMemory ? 'out_of_memory' : 'model_failed_to_load',
      message: `model '${id}' failed to load: ${report.reason}`,
      retryAfterSeconds: Math.ceil(backoff / 1000),
      decision: number,
    });
    dropEntry(turn, id);
  }
  if (model.pinned && !model.removed) wantPinned(turn, id);
  if (!again)
    turn.effects.push({ type: 'arm-timer', at: turn.state.now + backoff, timer: { kind: 'retry', model: id } });
}

function mayTryAgain(report: ExitReport, failures: number): boolean {
  const { exitClass } = report;
  return (exitClass === 'out-of-memory' || exitClass === 'port-in-use') && failures < LOAD_TRIES[exitClass];
}

/**
 * At least what it had when it failed plus what it then asked for, where the log says so. Never more than it can have
 * alone: a figure from a log must not make a model too large for ever.
 */
function raisedClaim(
  turn: Turn,
  model: Model,
  instance: Instance,
  { device: name }: ExitReport,
  askedBytes: number | null,
): DeviceBytes | null {
  const device = name === null ? undefined : turn.state.devices[name];
  if (name === null || device === undefined || askedBytes === null || !isAmount(askedBytes)) return model.raised;
  const most = Math.max(0, device.totalBytes - device.marginBytes);
  const wanted = Math.min(most, bytesOn(instance.resident, name) + askedBytes);
  return largerOf(model.raised ?? {}, { [name]: Math.max(wanted, bytesOn(instance.claim, name)) });
}

/** Memory of a dead process comes back later than its exit is seen; until then it counts as held. */
function holdUntilReleased(turn: Turn, id: ModelId, instance: Instance): void {
  const held = Object.fromEntries(
    Object.entries(instance.claim).filter(([device, bytes]) => bytes > 0 && turn.state.devices[device]?.sample),
  );
  if (Object.keys(held).length === 0) return;
  const { now, settings, devices } = turn.state;
  const usedBefore = Object.fromEntries(Object.keys(held).map((name) => [name, devices[name]?.sample?.usedBytes ?? 0]));
  const { generation, pid, resident } = instance;
  const release: Release = { model: id, generation, pid, exitedAt: now, held, resident, usedBefore };
  turn.state.releases = [...turn.state.releases, release];
  const timer = { kind: 'release', model: id, generation } as const;
  turn.effects.push({ type: 'arm-timer', at: now + settings.releaseLimitMillis, timer });
}
