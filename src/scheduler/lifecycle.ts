import { believable, largerOf } from './amounts.js';
import type { Layout } from './layouts.js';
import type { EventBody } from './events.js';
import { sayAmounts, sayDuration } from './explain.js';
import type { Instance, Model, StopReason } from './state.js';
import { retryMeasuring } from './measure.js';
import { takeReports } from './reports.js';
import { entryOf, instanceOf, modelOf, note, patchInstance, patchModel, remember, type Turn } from './turn.js';
import type { DeviceBytes, Millis, ModelId } from './units.js';

/** At most this long for a child to leave that has nothing left to do: at shutdown, once its drain is over, or for want of a sign of life. */
export const IDLE_STOP_MILLIS = 2000;

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
    hungSince: null,
    draining: null,
    drainingUntil: null,
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
export function isStarting(instance: Instance): boolean {
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
  const drainingUntil = limitMillis === null ? null : turn.state.now + limitMillis;
  patchInstance(turn, id, { draining: reason, drainingUntil });
  if (drainingUntil !== null) {
    const timer = { kind: 'drain', model: id, generation: instance.generation } as const;
    turn.effects.push({ type: 'arm-timer', at: drainingUntil, timer });
  }
}

/**
 * The time that requests in flight were given is over: they are ended, and the child has nothing left to wait for. The
 * timer of an earlier drain, which came to nothing, ends no later one.
 */
export function endDrain(turn: Turn, id: ModelId, generation: number): void {
  const model = modelOf(turn.state, id);
  const instance = instanceOf(turn.state, id, generation);
  if (model === null || instance === null || instance.draining === null) return;
  if (instance.drainingUntil === null || turn.state.now < instance.drainingUntil) return;
  turn.effects.push({ type: 'hang-up', model: id, generation });
  stopInstance(turn, id, instance.draining, Math.min(model.spec.stopTimeoutMillis, IDLE_STOP_MILLIS));
}

/** Requests in flight are given the model's stop-timeout; one without any, whatever it is doing, has to go at once. */
export function stopForShutdown(turn: Turn, id: ModelId): void {
  const model = modelOf(turn.state, id);
  if (!model?.instance) return;
  const { instance, spec } = model;
  const idleLimit = Math.min(spec.stopTimeoutMillis, IDLE_STOP_MILLIS);
  const timeoutMillis = instance.leases.length > 0 ? spec.stopTimeoutMillis : idleLimit;
  if (instance.phase !== 'stopping') stopInstance(turn, id, { kind: 'shutdown' }, timeoutMillis);
  else turn.effects.push({ type: 'stop', model: id, generation: instance.generation, loading: false, timeoutMillis });
}

/** A pinned model never leaves by a decision: one that was about to, once its requests had ended, stays. */
export function keepPinned(turn: Turn, id: ModelId): void {
  if (modelOf(turn.state, id)?.instance?.draining?.kind === 'evicted') patchInstance(turn, id, { draining: null });
}

/** One that was to leave for somebody who waits no longer stays: nobody goes but for whom there is need. */
export function endNeedlessDrains(turn: Turn): void {
  for (const id of turn.state.running) {
    const draining = modelOf(turn.state, id)?.instance?.draining;
    if (draining?.kind !== 'evicted' || entryOf(turn.state, draining.by) !== null) continue;
    patchInstance(turn, id, { draining: null });
    note(turn, 'notice', id, `${id}: stays, since ${draining.by} no longer waits for it to leave`);
  }
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
  patchModel(turn, id, { failures: 0, portsLost: 0, retryAt: 0, loadMillis, lastExit: null });
  const { claim = instance.claim } = modelOf(turn.state, id)?.instance ?? {};
  patchInstance(turn, id, { told: { at: now, claim } });
  note(turn, 'ready', id, `${id}: ready after ${sayDuration(loadMillis)}, holds ${sayAmounts(claim)}`);
  takeReports(turn, event.reports ?? [], id);
  retryMeasuring(turn, id);
  remember(turn, id);
}

function backFromRest(turn: Turn, id: ModelId, instance: Instance): void {
  const { now } = turn.state;
  patchInstance(turn, id, { phase: 'ready', progress: null, lastUsedAt: now, wokeAt: now });
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
  const how = event.type === 'sleeping' ? 'fell asleep' : 'moved its weights to the host';
  note(turn, 'notice', event.model, `${event.model}: ${how}; the next request wakes it`);
}
