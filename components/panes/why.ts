import type { DeviceName, ModelId, ModelView } from '../../src/client/types.js';
import type { WhySubject } from '../../src/store/screen-store.js';
import { deviceFigures } from '../text/device-figures.js';
import { clockText, countText, durationText, idleText, sizeText } from '../text/format.js';
import { span, type Row } from '../widgets/row.js';
import type { ScreenView } from '../view.js';
import { decisionRows, latestDecisionOf, section } from './ledger.js';
import { stateOf } from './models.js';

/** What lies over the panes: a title and as many rows as it takes; the layout cuts a window out of them. */
export interface PageContent {
  readonly title: string;
  readonly rows: readonly Row[];
}

/** Answers `w`: the record behind a decision, why a model is or is not loaded, or who fills a device. */
export function whyPage(view: ScreenView, subject: WhySubject): PageContent {
  switch (subject.kind) {
    case 'decision': {
      const decision = view.snapshot.decisions.find((known) => known.number === subject.number);
      return {
        title: `Why: decision #${subject.number}`,
        rows:
          decision === undefined
            ? [[span('This decision is no longer kept.')]]
            : decisionRows(decision, view.options.glyphs.cut),
      };
    }
    case 'model':
      return { title: `Why: ${subject.model}`, rows: modelRows(view, subject.model) };
    case 'device':
      return { title: `Why: ${subject.device}`, rows: deviceRows(view, subject.device) };
  }
}

function modelRows(view: ScreenView, id: ModelId): Row[] {
  const model = view.snapshot.models.find((known) => known.id === id);
  if (model === undefined) return [[span('This model has left the catalog.')]];
  const queued = view.snapshot.queue.find((entry) => entry.model === id);
  const decision = latestDecisionOf(view.snapshot.decisions, id);
  const state = stateOf(model);
  return [
    [span(state.word, state.tone), span(`  ${standing(view, model)}`)],
    ...(queued === undefined ? [] : [[span(`waits as number ${queued.position}: ${queued.why}`, 'warn')]]),
    ...(model.lastExit === null || model.generation !== null
      ? []
      : [
          [
            span(
              `ended ${clockText(model.lastExit.at)}: ${model.lastExit.reason}`,
              model.word === 'failed' ? 'bad' : 'plain',
            ),
          ],
        ]),
    ...(decision === null
      ? [[], [span('No decision about it was made yet.', 'dim')]]
      : section('Latest decision about it', decisionRows(decision, view.options.glyphs.cut))),
  ];
}

/** The present state in one sentence. */
function standing(view: ScreenView, model: ModelView): string {
  if (model.invalid !== null) return `cannot be loaded: ${model.invalid}`;
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
      return model.blocked
        ? 'not loaded: blocked by the operator (b allows it again)'
        : `not loaded: ${stopText(model)}`;
  }
}

/** Why its latest instance was stopped. */
export function stopText(model: ModelView): string {
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
  }
}

function deviceRows(view: ScreenView, name: DeviceName): Row[] {
  const device = view.snapshot.devices.find((known) => known.name === name);
  if (device === undefined) return [[span('This device is no longer reported.')]];
  const figures = deviceFigures(device);
  const holders = device.segments
    .toSorted((a, b) => b.bytes - a.bytes)
    .map((segment): Row => {
      const model = view.snapshot.models.find((known) => known.id === segment.model);
      const state = model === undefined ? null : stateOf(model);
      const pinned = model?.pinned === true ? ', pinned' : '';
      const requests =
        model !== undefined && model.requests > 0 ? `, ${countText(model.requests, 'request')} in flight` : '';
      return [
        span(sizeText(segment.bytes).padStart(9)),
        span(`  ${segment.part.padEnd(9)}  `, 'dim'),
        span(segment.model, 'strong'),
        ...(state === null ? [] : [span('  '), span(state.word, state.tone)]),
        span(`${pinned}${requests}`, 'dim'),
      ];
    });
  return [
    [span(device.description)],
    [
      span(
        `held ${figures.held} + reserved ${figures.reserved} + external ${figures.external} + free ${figures.free}` +
          ` = ${figures.total} ${figures.unit}`,
      ),
    ],
    [span(`${sizeText(device.marginBytes)} of the free memory is kept as margin`, 'dim')],
    ...(device.overcommitBytes > 0 ? [[span(`claims exceed it by ${sizeText(device.overcommitBytes)}`, 'bad')]] : []),
    ...section('Who holds it', holders.length === 0 ? [[span('no model of ours', 'dim')]] : holders),
    ...section('External', [[span(externalText(device.attributed, device.externalBytes))]]),
  ];
}

function externalText(attributed: boolean, bytes: number): string {
  if (bytes === 0) return 'nothing else holds memory here';
  const how = attributed ? '' : '; the probe cannot tell which process holds what';
  return `${sizeText(bytes)} is held by programs that are not ours${how}`;
}
