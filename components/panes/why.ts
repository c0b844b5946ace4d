import type { DeviceName } from '../../src/client/types.js';
import type { WhySubject } from '../../src/store/screen-store.js';
import { deviceFigures } from '../text/device-figures.js';
import { countText, sizeText } from '../text/format.js';
import { span, type Row } from '../widgets/row.js';
import type { ScreenView } from '../view.js';
import { decisionRows, section } from './ledger.js';
import { stateOf } from './models.js';
import { pageWidth, type PageContent } from './page-content.js';
import { whyModelRows } from './why-model.js';

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
            : decisionRows(decision, pageWidth(view), view.options.glyphs.cut),
      };
    }
    case 'model':
      return { title: `Why: ${subject.model}`, rows: whyModelRows(view, subject.model) };
    case 'device':
      return { title: `Why: ${subject.device}`, rows: deviceRows(view, subject.device) };
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
