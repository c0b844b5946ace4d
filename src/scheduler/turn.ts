import type { Decision } from './decisions.js';
import type { Effect } from './effects.js';
import type { Instance, Model, QueueEntry, State } from './state.js';
import type { Millis, ModelId } from './units.js';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * One turn at work: its own copy of the state, what it decided and what is to be done. Records inside the state are
 * never changed, only replaced, so that the state before the turn stays as it was.
 */
export interface Turn {
  readonly state: Writable<Omit<State, 'devices'>> & { devices: Record<string, State['devices'][string]> };
  /** As they were before the turn; see ownModels. */
  readonly modelsBefore: State['models'];
  readonly effects: Effect[];
  readonly decisions: Decision[];
}

/** Decisions kept in the state, for screens that attach later. */
const KEPT_DECISIONS = 200;

/** Starts a turn at the given time; a clock that jumps back does not take the scheduler with it. */
export function beginTurn(state: State, at: Millis): Turn {
  const now = Number.isFinite(at) ? Math.max(state.now, at) : state.now;
  return {
    state: { ...state, devices: { ...state.devices }, now },
    modelsBefore: state.models,
    effects: [],
    decisions: [],
  };
}

/** The models to write to: the turn's own copy, which is made when it is first needed, since a catalog may be long. */
export function ownModels(turn: Turn): Record<ModelId, Model> {
  const own = turn.state.models === turn.modelsBefore ? { ...turn.modelsBefore } : turn.state.models;
  turn.state.models = own;
  return own;
}

/** The model with this id, or null; ids come from outside, so names of object members must not be found. */
export function modelOf(state: Pick<State, 'models'>, id: ModelId): Model | null {
  return Object.hasOwn(state.models, id) ? (state.models[id] ?? null) : null;
}

/** The live instance of this generation, or null when it has gone or another one is there. */
export function instanceOf(state: Pick<State, 'models'>, id: ModelId, generation: number): Instance | null {
  const instance = modelOf(state, id)?.instance ?? null;
  return instance !== null && instance.generation === generation ? instance : null;
}

export function entryOf(state: Pick<State, 'queue'>, id: ModelId): QueueEntry | null {
  return state.queue.find((entry) => entry.model === id) ?? null;
}

export function patchModel(turn: Turn, id: ModelId, patch: Partial<Model>): void {
  const model = modelOf(turn.state, id);
  if (model !== null) ownModels(turn)[id] = { ...model, ...patch };
}

export function patchInstance(turn: Turn, id: ModelId, patch: Partial<Instance>): void {
  const instance = modelOf(turn.state, id)?.instance;
  if (instance) patchModel(turn, id, { instance: { ...instance, ...patch } });
}

export function patchEntry(turn: Turn, id: ModelId, patch: Partial<QueueEntry>): void {
  turn.state.queue = turn.state.queue.map((entry) => (entry.model === id ? { ...entry, ...patch } : entry));
}

/** Adds a record to the journal of decisions; its number and time are given here. Returns the number. */
export function record(turn: Turn, decision: Omit<Decision, 'number' | 'at'>): number {
  const numbered: Decision = { number: turn.state.nextDecision, at: turn.state.now, ...decision };
  turn.state.nextDecision += 1;
  turn.decisions.push(numbered);
  turn.state.decisions = [...turn.state.decisions.slice(-(KEPT_DECISIONS - 1)), numbered];
  return numbered.number;
}

type NoteKind = Extract<
  Decision['kind'],
  'refuse' | 'ready' | 'exit' | 'measure' | 'release' | 'notice' | 'stop' | 'drain' | 'pin' | 'unpin'
>;

/** A record of something that happened to one model, without a plan. Returns its number. */
export function note(turn: Turn, kind: NoteKind, model: ModelId, sentence: string, asker?: Decision['asker']): number {
  return record(turn, {
    kind,
    model,
    forModel: null,
    asker: asker ?? { kind: 'system' },
    ledger: [],
    runningInstances: turn.state.running.length,
    modelsMax: turn.state.settings.modelsMax,
    plan: [],
    passedOver: [],
    proceeded: false,
    sentence,
  });
}

/** Has what was learnt of a model kept over restarts. */
export function remember(turn: Turn, id: ModelId): void {
  const model = modelOf(turn.state, id);
  if (model === null) return;
  const { spec, observed, rested, loadMillis } = model;
  const atRest = rested == null ? {} : { rested };
  turn.effects.push({ type: 'remember', model: id, fingerprint: spec.fingerprint, observed, ...atRest, loadMillis });
}
