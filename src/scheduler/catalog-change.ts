import { sameDevices } from './amounts.js';
import type { EventBody } from './events.js';
import { drainInstance, keepPinned, stopInstance } from './lifecycle.js';
import { watchIdle } from './idle.js';
import { dropEntry, forgetPinnedEntry, rejectWaiters, wantAtStart, wantPinned } from './queue.js';
import { removedMeanwhile } from './leases.js';
import { cancelMeasuring, wantMeasured } from './measure.js';
import type { Instance, Model, ModelSpec, Placement } from './state.js';
import { modelOf, note, ownModels, patchInstance, patchModel, type Turn } from './turn.js';
import type { ModelId } from './units.js';

/**
 * Takes in the catalog, at start and after each reload. What would be started the same way keeps running, and so does what
 * could not be started any more; what changed or went drains and stops; what is pinned is wanted.
 */
export function onCatalog(turn: Turn, event: Extract<EventBody, { type: 'catalog' }>): void {
  const specs = uniqueById(event.models);
  const pins = new Set(event.pins);
  const before = turn.state.modelOrder;
  const listed = new Set(specs.map((spec) => spec.id));

  for (const spec of specs) {
    const known = modelOf(turn.state, spec.id);
    const pinned = spec.pinned || pins.has(spec.id);
    if (known === null) ownModels(turn)[spec.id] = newModel(spec, pinned);
    else update(turn, known, spec, pins.has(spec.id));
  }
  for (const id of before) if (!listed.has(id)) remove(turn, id);

  const going = before.filter((id) => !listed.has(id) && modelOf(turn.state, id) !== null);
  turn.state.modelOrder = [...specs.map((spec) => spec.id), ...going];
  for (const spec of specs) {
    wantMeasured(turn, spec.id, false);
    if (modelOf(turn.state, spec.id)?.pinned) wantPinned(turn, spec.id);
  }
  for (const id of event.startup ?? []) wantAtStart(turn, id);
}

/** The first of two entries with one id keeps it. `__proto__` cannot be a key of plain data. */
function uniqueById(specs: readonly ModelSpec[]): readonly ModelSpec[] {
  const seen = new Set<ModelId>(['__proto__']);
  return specs.filter((spec) => spec.placements.length > 0 && !seen.has(spec.id) && seen.add(spec.id));
}

function newModel(spec: ModelSpec, pinned: boolean): Model {
  return {
    spec,
    instance: null,
    pinned,
    blocked: false,
    lastStop: null,
    lastExit: null,
    failures: 0,
    portsLost: 0,
    retryAt: 0,
    removed: false,
    ...whatIsKnown(spec),
  };
}

type Learnt =
  'observed' | 'rested' | 'raised' | 'loadMillis' | 'measure' | 'measured' | 'measureAgain' | 'failedMeasurements';

/** What was learnt of a model belongs to its arguments: new ones start with what earlier runs have left for them. */
function whatIsKnown({ known }: ModelSpec): Pick<Model, Learnt> {
  const measured = known?.measured ?? null;
  return {
    observed: known?.observed ?? null,
    rested: known?.rested ?? null,
    raised: null,
    loadMillis: known?.loadMillis ?? null,
    measure: measured === null ? 'unmeasured' : 'measured',
    measured,
    measureAgain: null,
    failedMeasurements: 0,
  };
}

function update(turn: Turn, known: Model, spec: ModelSpec, pinnedByOperator: boolean): void {
  const changed = known.spec.fingerprint !== spec.fingerprint;
  const pinned = pinnedAfter(known, spec, pinnedByOperator);
  patchModel(turn, spec.id, { spec, pinned, removed: false });
  if (pinned) keepPinned(turn, spec.id);
  else forgetPinnedEntry(turn, spec.id);
  keepWhatIsBack(turn, known, spec);
  if (spec.idleTimeoutMillis !== known.spec.idleTimeoutMillis) watchIdle(turn, spec.id);
  if (!changed) {
    if (!sameLayouts(known.spec.placements, spec.placements) || findsMore(known, spec)) learnAnew(turn, known, spec);
    return;
  }
  cancelMeasuring(turn, spec.id);
  patchModel(turn, spec.id, { failures: 0, retryAt: 0, ...whatIsKnown(spec) });
  if (known.instance === null || known.instance.fingerprint === spec.fingerprint) return;
  if (isKept(known.instance, spec)) tellKept(turn, spec, known.spec.invalid);
  else leave(turn, known, { kind: 'catalog', change: 'changed' });
}

/**
 * A model that cannot be used may be half-written, or on a disk that is away for a moment: whoever is up needs none of it,
 * and nothing could take its place.
 */
function isKept({ phase }: Instance, { invalid }: ModelSpec): boolean {
  return invalid !== null && phase !== 'loading' && phase !== 'stopping';
}

function tellKept(turn: Turn, { id, invalid }: ModelSpec, before: string | null): void {
  if (invalid === before) return;
  note(turn, 'notice', id, `${id}: runs on as it was started; it could not be loaded now: ${invalid ?? ''}`);
}

/**
 * The machine has other devices than was known, such as those of a driver that has come back: what was measured was laid
 * out without them. What runs keeps running.
 */
function learnAnew(turn: Turn, { observed, rested = null, loadMillis }: Model, spec: ModelSpec): void {
  cancelMeasuring(turn, spec.id);
  const learnt = whatIsKnown(spec);
  patchModel(turn, spec.id, {
    ...learnt,
    observed: learnt.observed ?? observed,
    rested: learnt.rested ?? rested,
    loadMillis: learnt.loadMillis ?? loadMillis,
  });
}

/** True when earlier runs turn out to have left something, now that it is known on which machine. */
function findsMore({ measured, observed }: Model, { known }: ModelSpec): boolean {
  return (measured === null && known?.measured != null) || (observed === null && known?.observed != null);
}

/** True when both lay a model out on the same devices, one after the other. */
function sameLayouts(a: readonly Placement[], b: readonly Placement[]): boolean {
  return a.length === b.length && a.every(({ need }, index) => sameDevices(need, b[index]?.need ?? {}));
}

/** An instance that was to leave for a change that has been taken back stays, as long as it is still there. */
function keepWhatIsBack(turn: Turn, { instance }: Model, spec: ModelSpec): void {
  if (instance?.draining?.kind !== 'catalog' || instance.fingerprint !== spec.fingerprint) return;
  patchInstance(turn, spec.id, { draining: null });
}

/** A preset's `pin` counts when it is read first and when it changes: what the operator has undone stays undone. */
function pinnedAfter(known: Model, spec: ModelSpec, pinnedByOperator: boolean): boolean {
  const asBefore = known.spec.pinned === spec.pinned && !known.removed;
  return pinnedByOperator || (asBefore ? known.pinned && spec.pinned : spec.pinned);
}

function remove(turn: Turn, id: ModelId): void {
  const model = modelOf(turn.state, id);
  if (model === null) return;
  cancelMeasuring(turn, id);
  rejectWaiters(turn, id, removedMeanwhile(id));
  dropEntry(turn, id);
  if (model.instance === null) {
    delete ownModels(turn)[id];
    return;
  }
  patchModel(turn, id, { removed: true, pinned: false });
  leave(turn, model, { kind: 'catalog', change: 'removed' });
}

function leave(turn: Turn, model: Model, reason: { kind: 'catalog'; change: 'removed' | 'changed' }): void {
  const { id, stopTimeoutMillis } = model.spec;
  if (model.instance?.phase === 'loading') stopInstance(turn, id, reason);
  else drainInstance(turn, id, reason, stopTimeoutMillis);
}
