import type { Decision, DecisionKind, ModelId, ModelView, QueueView } from '../../src/client/types.js';
import { clockText, countText, durationText, idleText, withoutName } from '../text/format.js';
import { span, type Row } from '../widgets/row.js';
import type { ScreenView } from '../view.js';
import { kindTone, shortKind } from './decisions.js';
import { decisionRows, section, SECTION_INDENT } from './ledger.js';
import { entryFor, stateOf } from '../text/model-state.js';
import { pageWidth } from './page-content.js';

/** Decisions that are listed at most; the pane has them all. */
const LISTED = 8;

/** What says nothing about whether a model is loaded. */
const ASIDE: ReadonlySet<DecisionKind> = new Set(['pin', 'unpin', 'measure', 'notice']);

/** Why a model is or is not loaded: its state in a sentence, the record that explains it, and what was decided lately. */
export function whyModelRows(view: ScreenView, id: ModelId): Row[] {
  const model = view.snapshot.models.find((known) => known.id === id);
  if (model === undefined) return [[span('This model has left the catalog.')]];
  if (view.options.source.kind === 'router') {
    const { word, tone } = stateOf(model, view.snapshot);
    return [[span(word, tone)], [span('a llama-server router does not tell why', 'dim')]];
  }
  const state = stateOf(model, view.snapshot);
  const { lastExit } = model;
  const entry = entryFor(view.snapshot, model);
  const waits = isWaiting(view, model);
  return [
    [span(state.word, state.tone), span(`  ${standing(view, model)}`)],
    ...((model.word === 'stopping' || model.draining) && entry !== null
      ? [[span(`asked for again ${waitText(view, entry)}`, 'warn')]]
      : []),
    ...(waits && (model.lastStop !== null || lastExit !== null) ? [[span(`before that: ${stopText(model)}`)]] : []),
    ...(lastExit === null || model.generation !== null
      ? []
      : [[span(`ended ${clockText(lastExit.at)}: ${lastExit.reason}`, model.word === 'failed' ? 'bad' : 'plain')]]),
    ...recordRows(view, model),
    ...section('Decisions that mention it, newest first', mentionRows(view, id)),
  ];
}

/** The present state in one sentence. */
function standing(view: ScreenView, model: ModelView): string {
  if (model.invalid !== null) return `cannot be loaded: ${model.invalid}`;
  if (isDraining(model)) return `leaves once its ${countText(model.requests, 'request')} ended: ${stopText(model)}`;
  switch (model.word) {
    case 'ready':
    case 'sleeping':
    case 'parked':
      return model.requests > 0
        ? `runs with ${countText(model.requests, 'request')} in flight`
        : `runs and is idle${model.lastUsedAt === null ? '' : ` for ${idleText(view.now - model.lastUsedAt)}`}`;
    case 'loading':
      return model.loadingSince === null
        ? 'is being loaded'
        : `is being loaded for ${durationText(view.now - model.loadingSince)}`;
    case 'stopping':
      return `is leaving: ${stopText(model)}`;
    case 'unloaded':
    case 'failed':
    case 'invalid':
      if (isWaiting(view, model)) return notLoadedText(view, model);
      return model.blocked
        ? 'not loaded: blocked by the operator (b allows it again)'
        : `not loaded: ${notLoadedText(view, model)}`;
  }
}

/** True for one that answers what it has begun, and then leaves. */
function isDraining({ draining, word }: ModelView): boolean {
  return draining && word !== 'stopping';
}

/** True for a model that is not loaded and is to be. */
export function isWaiting({ snapshot }: ScreenView, model: ModelView): boolean {
  return model.generation === null && entryFor(snapshot, model) !== null;
}

/** Since when it waits, in which place, and what for. */
function waitText(view: ScreenView, { model, position, since, why, waiters }: QueueView): string {
  const who = waiters > 0 ? `, for ${countText(waiters, 'request')}` : '';
  const what = why === '' ? '' : `: ${withoutName(why, model)}`;
  return `since ${clockText(since)} (${durationText(view.now - since)}) as number ${position}${who}${what}`;
}

/**
 * Why it does not run: what it waits for, else the latest refusal where nothing came after that, else how its latest
 * instance left.
 */
export function notLoadedText(view: ScreenView, model: ModelView): string {
  const entry = entryFor(view.snapshot, model);
  if (entry !== null) return waitText(view, entry);
  const refusal = standingRefusal(view, model.id);
  if (refusal !== null)
    return `refused at ${clockText(refusal.at)} (decision #${refusal.number}): ${withoutName(refusal.sentence, model.id)}`;
  return stopText(model);
}

/** Why its latest instance was stopped. */
function stopText(model: ModelView): string {
  const stop = model.lastStop;
  if (stop === null) return model.lastExit === null ? 'nobody has asked for it yet' : 'it ended by itself';
  switch (stop.kind) {
    case 'operator':
      return stop.action === 'kill' ? 'the operator killed it' : 'the operator unloaded it';
    case 'evicted':
      return `evicted for ${stop.by} (decision #${stop.decision})`;
    case 'idle':
      return 'it was idle for longer than allowed';
    case 'catalog':
      return stop.change === 'removed' ? 'the catalog no longer has it' : 'its catalog entry has changed';
    case 'shutdown':
      return 'the supervisor is stopping';
    case 'stalled':
      return 'nothing was heard of it while it was loading (--load-timeout)';
    case 'hung':
      return 'it had hung (--kill-hung)';
  }
}

/** The refusal that is the last word on a model, or null. */
function standingRefusal(view: ScreenView, id: ModelId): Decision | null {
  const latest = view.snapshot.decisions.findLast((decision) => decision.model === id && !ASIDE.has(decision.kind));
  return latest?.kind === 'refuse' ? latest : null;
}

/** The record that explains where the model stands, under its title. */
function recordRows(view: ScreenView, model: ModelView): Row[] {
  const record = (title: string, decision: Decision): Row[] =>
    section(title, decisionRows(decision, pageWidth(view) - SECTION_INDENT, view.options.glyphs.cut));
  const wait = model.generation === null ? entryFor(view.snapshot, model)?.decision : undefined;
  const waiting = view.snapshot.decisions.find(({ number }) => number === wait);
  if (waiting !== undefined) return record('Why it waits', waiting);
  const refusal = model.generation === null ? standingRefusal(view, model.id) : null;
  if (refusal !== null) return record('The refusal', refusal);
  const { lastStop } = model;
  if (lastStop?.kind === 'evicted' && (model.generation === null || model.word === 'stopping' || model.draining)) {
    const eviction = view.snapshot.decisions.find(({ number }) => number === lastStop.decision);
    return eviction === undefined
      ? [[], [span(`The record of its eviction, decision #${lastStop.decision}, is no longer kept.`, 'dim')]]
      : record('Its eviction', eviction);
  }
  const latest = mentions(view, model.id)[0];
  return latest === undefined
    ? [[], [span('No decision about it was made yet.', 'dim')]]
    : record('Latest decision about it', latest);
}

function mentionRows(view: ScreenView, id: ModelId): Row[] {
  const listed = mentions(view, id).slice(0, LISTED);
  const digits = Math.max(0, ...listed.map(({ number }) => String(number).length));
  return listed.map((decision) => [
    span(`#${decision.number}`.padEnd(digits + 2), 'accent'),
    span(`${clockText(decision.at)} `, 'dim'),
    span(shortKind(decision.kind).padEnd(9), kindTone(decision.kind)),
    span(decision.sentence),
  ]);
}

/** Decisions about a model, for it, or in which it has to leave; newest first. */
function mentions(view: ScreenView, id: ModelId): Decision[] {
  return view.snapshot.decisions
    .filter(
      (decision) =>
        decision.model === id || decision.forModel === id || decision.plan.some((victim) => victim.model === id),
    )
    .toReversed();
}
