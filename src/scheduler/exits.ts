import type { EventBody } from './events.js';
import { saySilence, sayStopReason } from './explain.js';
import { isStarting } from './lifecycle.js';
import { dropEntry, rejectWaiters, wantPinned } from './queue.js';
import { momentOf, recordRanOut, type Moment } from './ran-out.js';
import { raisedAfter } from './raised.js';
import { holdUntilReleased } from './releases.js';
import type { ExitReport, Instance, Model, Silence } from './state.js';
import { entryOf, instanceOf, modelOf, note, ownModels, patchModel, type Turn } from './turn.js';
import type { ModelId } from './units.js';

/** Loads of one model that run out of memory, or find their port taken, in a row before its waiters are told. */
const MEMORY_TRIES = 2;
const PORT_TRIES = 3;

const FIRST_BACKOFF_MILLIS = 1000;
const LONGEST_BACKOFF_MILLIS = 60_000;

/** A child's exit, in whichever phase; a second report of the same exit finds nothing. */
export function onExited(turn: Turn, event: Extract<EventBody, { type: 'exited' }>): void {
  const instance = instanceOf(turn.state, event.model, event.generation);
  const model = modelOf(turn.state, event.model);
  if (instance === null || model === null) return;

  const moment = momentOf(turn, instance);
  holdUntilReleased(turn, { ...instance, model: event.model });
  const silence = silenceOf(instance);
  const report: ExitReport = {
    at: turn.state.now,
    generation: event.generation,
    duringLoad: isStarting(instance) || silence?.kind === 'stalled',
    exitClass: silence?.kind ?? event.exitClass,
    exitCode: event.exitCode,
    signal: event.signal,
    reason: silence === null ? event.reason : saySilence(silence),
    device: event.device,
  };
  turn.state.running = turn.state.running.filter((id) => id !== event.model);
  patchModel(turn, event.model, { instance: null, lastExit: report, lastStop: instance.stopReason });
  if (model.removed || (instance.phase === 'stopping' && silence === null)) afterStop(turn, event.model, instance);
  else if (!lostPort(turn, model, report)) afterFailure(turn, moment, model, instance, report, event.askedBytes);
}

/** Why it was stopped, where that was for want of a sign of life. */
function silenceOf({ stopReason }: Instance): Silence | null {
  return stopReason?.kind === 'stalled' || stopReason?.kind === 'hung' ? stopReason : null;
}

/**
 * True when another program has taken the port meanwhile and another port is tried: no fault of the model's. Several
 * times in a row it is a failure like any other.
 */
function lostPort(turn: Turn, model: Model, report: ExitReport): boolean {
  const { id } = model.spec;
  const portsLost = report.duringLoad && report.exitClass === 'port-in-use' ? model.portsLost + 1 : 0;
  const again = portsLost > 0 && portsLost < PORT_TRIES;
  patchModel(turn, id, { portsLost: again ? portsLost : 0 });
  if (!again) return false;
  note(turn, 'exit', id, `${id}: another program has taken its port; the next load takes another`);
  if (model.pinned) wantPinned(turn, id);
  return true;
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
  moment: Moment,
  model: Model,
  instance: Instance,
  report: ExitReport,
  askedBytes: number | null,
): void {
  const { id } = model.spec;
  const failures = model.failures + 1;
  const backoff = Math.min(LONGEST_BACKOFF_MILLIS, FIRST_BACKOFF_MILLIS * 2 ** (failures - 1));
  const outOfMemory = report.exitClass === 'out-of-memory';
  const again = report.duringLoad && outOfMemory && failures < MEMORY_TRIES && entryOf(turn.state, id) !== null;
  patchModel(turn, id, {
    failures,
    retryAt: again ? turn.state.now : turn.state.now + backoff,
    raised: outOfMemory ? raisedAfter(turn.state, model, instance, report.device, askedBytes) : model.raised,
  });

  const when = report.duringLoad ? 'while loading' : 'while serving';
  const next = again ? '; trying once more' : '';
  const sentence = `${id}: ended ${when}: ${report.reason}${next}`;
  const failed = modelOf(turn.state, id) ?? model;
  const number = outOfMemory
    ? recordRanOut(turn, moment, failed, instance, report.device, sentence)
    : note(turn, 'exit', id, sentence);
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
  if (model.pinned) wantPinned(turn, id);
  if (!again)
    turn.effects.push({ type: 'arm-timer', at: turn.state.now + backoff, timer: { kind: 'retry', model: id } });
}
