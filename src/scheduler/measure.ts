import { believable, largerOf } from './amounts.js';
import type { EventBody, TimerName } from './events.js';
import { sayAmounts } from './explain.js';
import { sameDeviceSet } from './ledger.js';
import { takeReports } from './reports.js';
import type { Model, Placement } from './state.js';
import { modelOf, note, patchInstance, patchModel, type Turn } from './turn.js';
import type { ModelId } from './units.js';

/** Puts a model in the measure queue, unless its need is known or cannot be found out. `first`: somebody waits for it. */
export function wantMeasured(turn: Turn, id: ModelId, first: boolean): void {
  const model = modelOf(turn.state, id);
  if (model === null || !turn.state.settings.measures || turn.state.shuttingDown) return;
  if (model.spec.invalid !== null || model.removed || model.measure !== 'unmeasured') return;
  const others = turn.state.measureQueue.filter((other) => other !== id);
  if (first) turn.state.measureQueue = [id, ...others];
  else if (!turn.state.measureQueue.includes(id)) turn.state.measureQueue = [...others, id];
}

/** True while a model's need is being found out, or is about to be: it is not loaded before. */
export function awaitsMeasurement(turn: Turn, model: Model): boolean {
  return model.measure === 'measuring' || turn.state.measureQueue.includes(model.spec.id);
}

/** Forgets what was measured and measures again. */
export function measureAgain(turn: Turn, id: ModelId): void {
  cancelMeasuring(turn, id);
  patchModel(turn, id, { measure: 'unmeasured', measured: null, measureAgain: false, failedMeasurements: 0 });
  wantMeasured(turn, id, true);
}

/** Takes a model out of the queue, and stops the child that measures it. */
export function cancelMeasuring(turn: Turn, id: ModelId): void {
  turn.state.measureQueue = turn.state.measureQueue.filter((other) => other !== id);
  const { measuring } = turn.state;
  if (measuring?.model !== id) return;
  turn.effects.push({ type: 'cancel-measure', model: id, fingerprint: measuring.fingerprint });
  turn.state.measuring = null;
  patchModel(turn, id, { measure: 'unmeasured' });
}

/** One measuring child at a time: starts the next when there is none. */
export function startMeasuring(turn: Turn): void {
  if (turn.state.measuring !== null || turn.state.shuttingDown) return;
  const [id, ...rest] = turn.state.measureQueue;
  if (id === undefined) return;
  turn.state.measureQueue = rest;
  const model = modelOf(turn.state, id);
  if (model === null) return;
  const { fingerprint } = model.spec;
  const since = turn.state.now;
  turn.state.measuring = { model: id, fingerprint, since };
  patchModel(turn, id, { measure: 'measuring' });
  turn.effects.push({ type: 'measure', model: id, fingerprint });
  const timer = { kind: 'measure-limit', model: id, fingerprint, since } as const;
  turn.effects.push({ type: 'arm-timer', at: since + turn.state.settings.measureLimitMillis, timer });
}

/** A measurement has ended, one way or the other. One that was not asked for, or for other arguments, is ignored. */
export function onMeasured(turn: Turn, event: Extract<EventBody, { type: 'measured' }>): void {
  const { measuring } = turn.state;
  const model = modelOf(turn.state, event.model);
  if (measuring?.model !== event.model || measuring.fingerprint !== event.fingerprint || model === null) return;
  turn.state.measuring = null;
  takeReports(turn, event.reports ?? [], null);
  const placements = (event.placements ?? []).filter(isBelievable);
  if (placements[0] === undefined) {
    fail(turn, model, event.reason || 'it said nothing that can be believed');
    return;
  }
  patchModel(turn, event.model, { measure: 'measured', measured: placements, measureAgain: false });
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
  turn.state.measuring = null;
  fail(turn, model, `no result within ${Math.round(turn.state.settings.measureLimitMillis / 1000)} s`);
}

/** It is loaded on its estimate; since it may not have been there to be measured, it is tried once more after a load. */
function fail(turn: Turn, model: Model, reason: string): void {
  const { id } = model.spec;
  const failedMeasurements = model.failedMeasurements + 1;
  patchModel(turn, id, { measure: 'failed', measureAgain: failedMeasurements === 1, failedMeasurements });
  note(turn, 'measure', id, `${id}: could not be measured (${reason}); its estimate is used`);
}

/** After a successful load: a measurement that failed before may work now. */
export function retryMeasuring(turn: Turn, id: ModelId): void {
  const model = modelOf(turn.state, id);
  if (!model?.measureAgain) return;
  patchModel(turn, id, { measure: 'unmeasured', measureAgain: false });
  wantMeasured(turn, id, false);
}
