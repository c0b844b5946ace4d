import type { Decision, MemoryChange, Millis, OutOfMemoryReport, Snapshot } from '../../src/client/types.js';
import { clockText, countText, durationText, gibText, sizeText } from '../text/format.js';
import { span, type Row } from '../widgets/row.js';
import { headerRow, tableRow, type Column } from '../widgets/table.js';
import type { ScreenView } from '../view.js';
import { kindTone, shortKind } from './decisions.js';
import { ledgerRows, section, SECTION_INDENT } from './ledger.js';
import { stateOf } from '../text/model-state.js';
import { pageWidth, type PageContent } from './page-content.js';
import { remediesFor } from './remedies.js';

/** The reports that there are, oldest first. */
export function reportsOf({ outOfMemory }: Snapshot): readonly OutOfMemoryReport[] {
  return outOfMemory ?? [];
}

export function reportOf(snapshot: Snapshot, decision: number): OutOfMemoryReport | null {
  return reportsOf(snapshot).find((report) => report.decision === decision) ?? null;
}

/** The report to be shown after this one: the one before it; after the oldest, or where none is shown, the latest. */
export function reportAfter(snapshot: Snapshot, shown: number | null): OutOfMemoryReport | null {
  const reports = reportsOf(snapshot);
  const before = shown === null ? undefined : reports.findLast(({ decision }) => decision < shown);
  return before ?? reports.at(-1) ?? null;
}

/** The latest report, where nobody has looked at it yet. */
export function unseenReport({ snapshot, screen }: Pick<ScreenView, 'snapshot' | 'screen'>): OutOfMemoryReport | null {
  const latest = reportsOf(snapshot).at(-1);
  return latest === undefined || latest.decision <= screen.reportSeen ? null : latest;
}

function holderColumns(width: number): readonly Column[] {
  const who = Math.min(26, Math.floor(width / 3));
  return [
    { key: 'bytes', title: 'GiB', width: 6, align: 'right' },
    { key: 'who', title: 'WHO', width: who, align: 'left', cutAt: 'middle' },
    { key: 'leave', title: 'COULD IT HAVE LEFT?', width: Math.max(10, width - who - 8), align: 'left' },
  ];
}

/** How a model came to run out of memory: who held it, who could have left and why not, what would help now. */
export function outOfMemoryPage(view: ScreenView, number: number): PageContent {
  const report = reportOf(view.snapshot, number);
  if (report === null) return { title: 'Out of memory', rows: [[span('This report is no longer kept.')]] };
  const reports = reportsOf(view.snapshot);
  const place =
    reports.length === 1 ? '' : ` (${reports.length - reports.indexOf(report)} of ${reports.length}, ! shows the next)`;
  const record = view.snapshot.decisions.find((decision) => decision.number === number) ?? null;
  const mark = view.options.glyphs.cut;
  const width = pageWidth(view) - SECTION_INDENT;
  return {
    title: `Out of memory: ${report.model}${place}`,
    rows: [
      ...summaryRows(view, report, record),
      ...section('What would help', remedyRows(view, report, record)),
      ...report.holders.flatMap((holders) => holderSection(report, record, holders, width, mark)),
      ...section('The minute before', timelineRows(report)),
      ...section('Ledger at that moment', ledgerRows(record?.ledger ?? [], width, mark)),
    ],
  };
}

function summaryRows(view: ScreenView, report: OutOfMemoryReport, record: Decision | null): Row[] {
  const { model: id, at, device, askedBytes, residentBytes, claimBytes, decision } = report;
  const model = view.snapshot.models.find((known) => known.id === id);
  const where = device === null ? '' : ` on ${device}`;
  const state = model === undefined ? null : stateOf(model, view.snapshot);
  const figures = record?.ledger.find((known) => known.device === device) ?? record?.ledger[0];
  return [
    [
      span(id, 'strong'),
      span(` ran out of memory${where} at ${clockText(at)}`, 'bad'),
      span(` (decision #${decision})`, 'dim'),
      ...(state === null ? [] : [span('; now it is '), span(state.word, state.tone)]),
      ...(state?.word === 'WAITING' ? [span(' to be loaded again', 'warn')] : []),
    ],
    [
      span(
        `${askedBytes === null ? 'Its log does not say how much it asked for; it' : `It asked for ${sizeText(askedBytes)},`} ` +
          `was seen to hold ${sizeText(residentBytes)} by then, and was let in with ${sizeText(claimBytes)}.`,
      ),
    ],
    ...(figures === undefined
      ? []
      : [
          [
            span(
              `There was ${sizeText(Math.max(0, figures.availableBytes))} for it; from now on ${sizeText(figures.needBytes)} is set aside.`,
              'dim',
            ),
          ],
        ]),
  ];
}

function remedyRows(view: ScreenView, report: OutOfMemoryReport, record: Decision | null): Row[] {
  return remediesFor(view, report, record).flatMap(({ command, effect }): Row[] => [
    ...(command === null ? [] : [[span(command, 'accent')]]),
    [span(`${command === null ? '' : '  '}${effect}`, command === null ? 'plain' : 'dim')],
  ]);
}

function holderSection(
  report: OutOfMemoryReport,
  record: Decision | null,
  { device, segments, foreign }: OutOfMemoryReport['holders'][number],
  width: number,
  mark: string,
): Row[] {
  const columns = holderColumns(width);
  const figures = record?.ledger.find((known) => known.device === device);
  const row = (bytes: number, who: string, leave: string): Row =>
    tableRow(columns, { bytes: { text: gibText(bytes) }, who: { text: who }, leave: { text: leave } }, mark);
  const total = figures === undefined ? '' : `, ${sizeText(figures.totalBytes)} in all`;
  const notTaken = (model: string): number =>
    segments
      .filter((other) => other.model === model && other.part === 'reserved')
      .reduce((sum, { bytes }) => sum + bytes, 0);
  const taken = segments.filter(({ part }) => part !== 'reserved').toSorted((a, b) => b.bytes - a.bytes);
  const free =
    (figures?.totalBytes ?? 0) - (figures?.externalBytes ?? 0) - taken.reduce((sum, { bytes }) => sum + bytes, 0);
  return section(`Who held ${device}${total}`, [
    headerRow(columns, mark),
    ...taken.map(({ model, part, bytes }) =>
      row(
        bytes,
        model !== report.model ? model : `${model}, ${part === 'releasing' ? 'the try before' : 'itself'}`,
        part === 'releasing' ? 'was leaving already' : couldLeave(report, record, model, notTaken(model)),
      ),
    ),
    ...(figures === undefined
      ? []
      : [
          row(figures.externalBytes, 'other programs', foreignText(foreign)),
          row(Math.max(0, free), 'nobody', `${sizeText(figures.marginBytes)} is to be kept free as margin`),
        ]),
  ]);
}

function couldLeave(report: OutOfMemoryReport, record: Decision | null, model: string, notTakenBytes: number): string {
  const more = notTakenBytes === 0 ? '' : `; ${sizeText(notTakenBytes)} more was promised to it`;
  if (model === report.model) return `the one that failed${more}`;
  const victim = record?.plan.find((known) => known.model === model);
  if (victim !== undefined) return `yes: idle for ${durationText(victim.idleMillis)}`;
  const passed = record?.passedOver.find((known) => known.model === model);
  switch (passed?.reason) {
    case undefined:
      return record === null ? 'not known any more' : 'not considered';
    case 'busy':
      return `no: busy, ${countText(passed.requests, 'request')} in flight`;
    case 'not needed':
      return 'yes, but others were enough';
    case 'loading':
      return `no: loading${more}`;
    case 'pinned':
    case 'stopping':
    case 'wanted':
    case 'not on this device':
    case 'too young':
      return `no: ${passed.reason}`;
  }
}

function foreignText(foreign: OutOfMemoryReport['holders'][number]['foreign']): string {
  if (foreign.length === 0) return 'not ours to move';
  return foreign
    .slice(0, 2)
    .map(({ pid, name, bytes }) => `${name === '' ? 'a program' : name} (pid ${pid}) ${sizeText(bytes)}`)
    .join(', ');
}

/** What was decided and who took or gave memory, oldest first, by how long before it was. */
function timelineRows(report: OutOfMemoryReport): Row[] {
  const rows = [
    ...report.decisions.map(({ at, kind, sentence }) => ({
      at,
      row: [span(shortKind(kind).padEnd(9), kindTone(kind)), span(sentence)],
    })),
    ...report.changes.map((change) => ({ at: change.at, row: changeSpans(change) })),
  ];
  return rows
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, row }): Row => [span(`${beforeText(report.at - at)}  `, 'dim'), ...row]);
}

function changeSpans({ device, model, fromBytes, toBytes, at, until }: MemoryChange): Row {
  const grew = toBytes > fromBytes;
  const who = model ?? 'other programs';
  const amount = sizeText(Math.abs(toBytes - fromBytes));
  const took = until - at >= 1_000 ? ` within ${durationText(until - at)}` : '';
  return [
    span((grew ? 'took' : 'gave').padEnd(9), model === null && grew ? 'warn' : 'plain'),
    span(`${who}: ${grew ? '+' : '-'}${amount} on ${device}, now ${sizeText(toBytes)}${took}`),
  ];
}

function beforeText(millis: Millis): string {
  return (millis < 1_000 ? '0s' : `-${durationText(millis)}`).padStart(4);
}
