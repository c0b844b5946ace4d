import { isAmount } from './amounts.js';
import { onCatalog } from './catalog-change.js';
import type { Decision } from './decisions.js';
import type { Effect } from './effects.js';
import type { Event, TimerName } from './events.js';
import { onExited } from './exits.js';
import { onIdleTimer, watchIdle } from './idle.js';
import { onQueueTimeout, onRequest, onRequestEnded } from './leases.js';
import { endDrain, onReady, onResting, stopForShutdown } from './lifecycle.js';
import { onOperator } from './operator.js';
import { onParkTimer } from './park.js';
import { planQueue } from './plan-queue.js';
import { dropEntry, rejectWaiters } from './queue.js';
import { onMargin, setMargins } from './margins.js';
import { cancelMeasuring, onCorrected, onMeasured, onMeasureLimit, startMeasuring } from './measure.js';
import { takeReports } from './reports.js';
import { runningOf } from './running.js';
import { onSample } from './samples.js';
import { onHung, onStalled } from './silence.js';
import type { Settings, State } from './state.js';
import { writeOffRelease } from './write-off.js';
import { beginTurn, entryOf, instanceOf, patchInstance, type Turn } from './turn.js';

export interface StepResult {
  readonly state: State;
  readonly effects: readonly Effect[];
  readonly decisions: readonly Decision[];
}

/** A scheduler that knows no model and no device yet. */
export function initialState(settings: Settings): State {
  return {
    now: 0,
    settings,
    devices: {},
    models: {},
    modelOrder: [],
    running: [],
    queue: [],
    releases: [],
    measureQueue: [],
    measuring: null,
    nextGeneration: 1,
    nextDecision: 1,
    decisions: [],
    watchingClosely: false,
    shuttingDown: false,
  };
}

/**
 * One turn: takes in an event, decides, reserves and changes, all at once. Pure: the same state and event always give
 * the same result, and the state that was passed in stays as it was.
 */
export function step(state: State, event: Event): StepResult {
  const turn = beginTurn(state, event.at);
  handle(turn, event);
  if (mayChangeThePlan(state, turn, event)) planQueue(turn);
  if (startMeasuring(turn)) planQueue(turn);
  watchDevices(turn);
  return { state: turn.state, effects: turn.effects, decisions: turn.decisions };
}

/**
 * False when planning again would come to the same: a child has told how far it is, or of several who wait for a model
 * one more came, or one went. Time alone changes a plan only where a timer says so.
 */
function mayChangeThePlan(before: State, { state }: Turn, event: Event): boolean {
  switch (event.type) {
    case 'progress':
    case 'spawned':
      return false;
    case 'request':
    case 'request-ended': {
      const waitedBefore = (entryOf(before, event.model)?.waiters.length ?? 0) > 0;
      const waitsStill = (entryOf(state, event.model)?.waiters.length ?? 0) > 0;
      return state.models !== before.models || !waitedBefore || !waitsStill;
    }
    default:
      return true;
  }
}

function handle(turn: Turn, event: Event): void {
  switch (event.type) {
    case 'configured':
      turn.state.settings = event.settings;
      setMargins(turn);
      return;
    case 'catalog':
      onCatalog(turn, event);
      return;
    case 'sample':
      onSample(turn, event);
      return;
    case 'request':
      onRequest(turn, event);
      return;
    case 'request-ended':
      onRequestEnded(turn, event);
      return;
    case 'spawned':
      if (instanceOf(turn.state, event.model, event.generation) !== null && isAmount(event.pid)) {
        patchInstance(turn, event.model, { pid: event.pid });
      }
      return;
    case 'progress':
      if (instanceOf(turn.state, event.model, event.generation)?.phase === 'loading' && event.value >= 0) {
        patchInstance(turn, event.model, { progress: Math.min(1, event.value) });
      }
      return;
    case 'ready': {
      const wasUp = instanceOf(turn.state, event.model, event.generation)?.readyAt != null;
      onReady(turn, event);
      if (!wasUp && instanceOf(turn.state, event.model, event.generation) !== null) watchIdle(turn, event.model);
      return;
    }
    case 'sleeping':
    case 'parked':
      onResting(turn, event);
      return;
    case 'measured':
      onMeasured(turn, event);
      return;
    case 'corrected':
      onCorrected(turn, event);
      return;
    case 'reported':
      takeReports(turn, event.reports, null);
      return;
    case 'margin':
      onMargin(turn, event);
      return;
    case 'exited':
      onExited(turn, event);
      return;
    case 'stalled':
      onStalled(turn, event);
      return;
    case 'hung':
      onHung(turn, event);
      return;
    case 'operator':
      onOperator(turn, event);
      return;
    case 'timer':
      onTimer(turn, event.timer);
      return;
    case 'shutdown':
      onShutdown(turn);
      return;
  }
}

/** A timer that comes late finds nothing to do; some only make the queue be planned again. */
function onTimer(turn: Turn, timer: TimerName): void {
  switch (timer.kind) {
    case 'retry':
    case 'max-wait':
    case 'min-residency':
      return;
    case 'queue-timeout':
      onQueueTimeout(turn, timer);
      return;
    case 'measure-limit':
      onMeasureLimit(turn, timer);
      return;
    case 'idle':
      onIdleTimer(turn, timer);
      return;
    case 'release':
      writeOffRelease(turn, timer);
      return;
    case 'drain':
      endDrain(turn, timer.model, timer.generation);
      return;
    case 'park':
      onParkTimer(turn, timer);
      return;
  }
}

function onShutdown(turn: Turn): void {
  turn.state.shuttingDown = true;
  if (turn.state.measuring !== null) cancelMeasuring(turn, turn.state.measuring.model);
  turn.state.measureQueue = [];
  for (const { model } of turn.state.queue) {
    const message = 'the supervisor is shutting down';
    rejectWaiters(turn, model, { status: 503, code: 'shutting_down', message, retryAfterSeconds: null, decision: 0 });
    dropEntry(turn, model);
  }
  for (const id of turn.state.running) stopForShutdown(turn, id);
}

/** Devices are watched closely while anything loads, stops, gives memory back or is measured. */
function watchDevices(turn: Turn): void {
  const closely =
    turn.state.releases.length > 0 ||
    turn.state.measuring !== null ||
    runningOf(turn.state).some(([, { phase }]) => phase === 'loading' || phase === 'stopping');
  if (closely === turn.state.watchingClosely) return;
  turn.state.watchingClosely = closely;
  turn.effects.push({ type: 'watch-devices', closely });
}
