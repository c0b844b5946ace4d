import { believable, bytesOn, largerOf } from './amounts.js';
import type { EventBody, TimerName } from './events.js';
import { sayAmounts } from './explain.js';
import { ledgerOf, limitsLoads, passingRoomBytes, sameDeviceSet, type Ledger } from './ledger.js';
import { holdAfterMeasuring } from './releases.js';
import { takeReports } from './reports.js';
import { runningOf } from './running.js';
import type { Measuring, Model, Placement, State } from './state.js';
import { entryOf, modelOf, note, patchInstance, patchModel, type Turn } from './turn.js';
import type { DeviceName, ModelId } from './units.js';
import { waitsForDriver } from './unread.js';

/** Puts a model in the measure queue, unless its need is known or cannot be found out. `first`: somebody waits for it. */
export function wantMeasured(turn: Turn, id: ModelId, first: boolean): void {
  const model = modelOf(turn.state, id);
  if (model === null || !turn.state.settings.measures || turn.state.shuttingDown) return;
  if (model.spec.invalid !== null || model.removed || model.measure !== 'unmeasured') return;
  const others = turn.state.measureQueue.filter((other) => other !== id);
  if (first) turn.state.measureQueue = [id, ...others];
  else if (!turn.state.measureQueue.includes(id)) turn.state.measureQueue = [...others, id];
}

/** Somebody waits for it: it is measured before all others, and again where that was refused room, or too large a guess. */
export function measureFirst(turn: Turn, id: ModelId): void {
  const model = modelOf(turn.state, id);
  if (model?.instance === null && model.measure === 'failed' && model.measureAgain === 'before-load') {
    patchModel(turn, id, { measure: 'unmeasured', measureAgain: null });
    wantMeasured(turn, id, true);
  }
  if (turn.state.measureQueue.includes(id)) wantMeasured(turn, id, true);
}

/** True while a model's need is being found out, or is about to be: it is not loaded before. */
export function awaitsMeasurement(turn: Turn, model: Model): boolean {
  if (waitsForDriver(turn.state, model)) return false;
  return model.measure === 'measuring' || turn.state.measureQueue.includes(model.spec.id);
}

/** Measures again; what was measured before counts until then, and if nothing comes of it. */
export function measureAgain(turn: Turn, id: ModelId): void {
  cancelMeasuring(turn, id);
  patchModel(turn, id, { measure: 'unmeasured', measureAgain: null, failedMeasurements: 0 });
  wantMeasured(turn, id, true);
}

/** Takes a model out of the queue, and stops the child that measures it. */
export function cancelMeasuring(turn: Turn, id: ModelId): void {
  turn.state.measureQueue = turn.state.measureQueue.filter((other) => other !== id);
  const { measuring } = turn.state;
  if (measuring?.model !== id) return;
  turn.effects.push({ type: 'cancel-measure', model: id, fingerprint: measuring.fingerprint });
  endMeasuring(turn, measuring);
  patchModel(turn, id, { measure: 'unmeasured' });
}

/**
 * One measuring child at a time: starts the next that has room, when there is none. True when one that somebody waits
 * for was given up, since there is no room for it and nobody is about to make any: its load has to be planned then.
 */
export function startMeasuring(turn: Turn): boolean {
  let gaveUp = false;
  if (turn.state.measuring !== null || turn.state.shuttingDown || turn.state.measureQueue.length === 0) return gaveUp;
  const ledger = ledgerOf(turn.state);
  for (const id of turn.state.measureQueue) {
    const model = modelOf(turn.state, id);
    if (model !== null && waitsForDriver(turn.state, model)) continue;
    const lack = model === null ? null : roomLackingFor(turn.state, ledger, model);
    if (lack === null || model === null) {
      turn.state.measureQueue = turn.state.measureQueue.filter((other) => other !== id);
      if (model === null) continue;
      measure(turn, model);
      return gaveUp;
    }
    if (lack.passes || entryOf(turn.state, id) === null) continue;
    turn.state.measureQueue = turn.state.measureQueue.filter((other) => other !== id);
    fail(turn, model, `${lack.device} is full`);
    gaveUp = true;
  }
  return gaveUp;
}

/**
 * Where a measuring child would find no room, and whether that will pass by itself; null: it has room. A load that
 * sizes itself to what is free is not disturbed.
 */
export function roomLackingFor(
  state: State,
  ledger: Ledger,
  { spec }: Model,
): { readonly device: DeviceName; readonly passes: boolean } | null {
  for (const [device, bytes] of Object.entries(spec.measureClaim ?? {})) {
    const account = ledger[device];
    if (bytes === 0 || account === undefined || !limitsLoads(account.device)) continue;
    const there = runningOf(state).filter(([, { claim }]) => bytesOn(claim, device) > 0);
    const isSizing = there.some(([id, { phase }]) => {
      return phase === 'loading' && state.models[id]?.spec.contextPinned === false;
    });
    if (!isSizing && bytes <= passingRoomBytes(account)) continue;
    const passes = account.leavingBytes > 0 || there.some(([, { phase }]) => phase === 'loading');
    return { device, passes };
  }
  return null;
}

function measure(turn: Turn, { spec }: Model): void {
  const { id, fingerprint, measureClaim } = spec;
  const since = turn.state.now;
  const measurings = (turn.state.measurings ?? 0) + 1;
  const generation = -measurings;
  turn.state.measurings = measurings;
  turn.state.measuring = {
    model: id,
    generation,
    fingerprint,
    since,
    ...(measureClaim === undefined ? {} : { claim: measureClaim }),
  };
  patchModel(turn, id, { measure: 'measuring' });
  turn.effects.push({ type: 'measure', model: id, fingerprint, generation });
  const timer = { kind: 'measure-limit', model: id, fingerprint, since } as const;
  turn.effects.push({ type: 'arm-timer', at: since + turn.state.settings.measureLimitMillis, timer });
}

function endMeasuring(turn: Turn, measuring: Measuring): void {
  turn.state.measuring = null;
  holdAfterMeasuring(turn, measuring);
}

/** A measurement has ended, one way or the other. One that was not asked for, or for other arguments, is ignored. */
export function onMeasured(turn: Turn, event: Extract<EventBody, { type: 'measured' }>): void {
  const { measuring } = turn.state;
  const model = modelOf(turn.state, event.model);
  if (measuring?.model !== event.model || measuring.fingerprint !== event.fingerprint || model === null) return;
  endMeasuring(turn, measuring);
  takeReports(turn, event.reports ?? [], null);
  const placements = (event.placements ?? []).filter(isBelievable);
  if (placements[0] === undefined) {
    fail(turn, model, event.reason || 'it said nothing that can be believed');
    return;
  }
  patchModel(turn, event.model, { measure: 'measured', measured: placements, measureAgain: null });
  note(turn, 'measure', event.model, `${event.model}: measured, needs ${sayAmounts(placements[0].need)}`);
}

/** Loads are counted for what is known now, and so is an instance whose own figures are not known better. */
export function onCorrected(turn: Turn, event: Extract<EventBody, { type: 'corrected' }>): void {
  const model = modelOf(turn.state, event.model);
  if (model?.measure !== 'measured' || model.spec.fingerprint !== event.fingerprint) return;
  const measured = event.placements.filter(isBelievable);
  if (measured.length === 0) return;
  patchModel(turn, event.model, { measured });
  const { instance } = model;
  if (instance?.phase !== 'ready' || instance.claimQuality !== 'min' || model.raised !== null) return;
  const layout = measured.find(({ need }) => sameDeviceSet(need, instance.claim));
  if (layout === undefined) return;
  const claim = largerOf(layout.need, instance.resident);
  patchInstance(turn, event.model, { claim, awakeClaim: claim });
}

function isBelievable({ need }: Placement): boolean {
  const devices = Object.keys(need);
  return devices.length > 0 && Object.keys(believable(need)).length === devices.length;
}

/** The measuring child has taken too long. */
export function onMeasureLimit(turn: Turn, timer: Extract<TimerName, { kind: 'measure-limit' }>): void {
  const { measuring } = turn.state;
  const model = modelOf(turn.state, timer.model);
  if (measuring?.model !== timer.model || measuring.since !== timer.since || model === null) return;
  turn.effects.push({ type: 'cancel-measure', model: timer.model, fingerprint: measuring.fingerprint });
  endMeasuring(turn, measuring);
  fail(turn, model, `no result within ${Math.round(turn.state.settings.measureLimitMillis / 1000)} s`);
}

/** It is loaded on its estimate; since it may not have been there to be measured, it is tried once more after a load. */
function fail(turn: Turn, model: Model, reason: string): void {
  const { id } = model.spec;
  if (model.measured !== null) {
    patchModel(turn, id, { measure: 'measured', measureAgain: null });
    note(turn, 'measure', id, `${id}: could not be measured again (${reason}); what was measured before still counts`);
    return;
  }
  const failedMeasurements = model.failedMeasurements + 1;
  patchModel(turn, id, {
    measure: 'failed',
    measureAgain: failedMeasurements === 1 ? 'after-load' : null,
    failedMeasurements,
  });
  note(turn, 'measure', id, `${id}: could not be measured (${reason}); its estimate is used`);
}

/** After a successful load: a measurement that failed before may work now. */
export function retryMeasuring(turn: Turn, id: ModelId): void {
  const model = modelOf(turn.state, id);
  if (model === null || model.measureAgain === null) return;
  patchModel(turn, id, { measure: 'unmeasured', measureAgain: null });
  wantMeasured(turn, id, false);
}
