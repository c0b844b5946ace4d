import type { ModelId, RequestView } from '../../src/client/types.js';
import type { Page } from '../../src/store/screen-store.js';
import { durationText } from '../text/format.js';
import type { PaneList } from '../widgets/pane.js';
import { span, type Row } from '../widgets/row.js';
import { headerRow, tableRow, tableWidth, type Column } from '../widgets/table.js';
import type { ScreenView } from '../view.js';

/** Rows of the list on the page of the model; it has a page of its own. */
const DETAIL_ROWS = 5;

const BESIDES_KIND: readonly Column[] = [
  { key: 'id', title: 'REQUEST', width: 8, align: 'left' },
  { key: 'state', title: 'STATE', width: 8, align: 'left' },
  { key: 'age', title: 'AGE', width: 5, align: 'right' },
  { key: 'client', title: 'CLIENT', width: 21, align: 'left', cutAt: 'middle' },
];

/** Cells that a row stands in at most, on both pages. */
const INDENT = 4;

function columnsFor({ screen }: ScreenView): readonly Column[] {
  const room = screen.viewport.columns - INDENT - tableWidth(BESIDES_KIND) - 1;
  return [
    ...BESIDES_KIND,
    { key: 'kind', title: 'SENT TO', width: Math.max(8, Math.min(40, room)), align: 'left', cutAt: 'middle' },
  ];
}

/** Who waits for a model and who is being answered, the oldest first; empty as well where nobody tells. */
export function requestsOf({ snapshot }: Pick<ScreenView, 'snapshot'>, model: ModelId): readonly RequestView[] {
  return (snapshot.requests ?? []).filter((request) => request.model === model);
}

/** The one that is selected on their page; null: it has ended, or there is none. */
export function selectedRequest(view: ScreenView, page: Extract<Page, { kind: 'requests' }>): RequestView | null {
  const open = requestsOf(view, page.model);
  return (page.selected === null ? open[0] : open.find(({ id }) => id === page.selected)) ?? null;
}

/** One request in a sentence. */
export function requestSentence({ id, kind, client, since, waiting }: RequestView, view: ScreenView): string {
  const from = client === undefined ? '' : `, from ${client}`;
  return `${id}${from}, ${waiting ? 'waiting' : 'being answered'} for ${durationText(view.now - since)}, sent to ${kind}`;
}

/** The page of the requests: a list in which one is selected. */
export function requestsList(view: ScreenView, page: Extract<Page, { kind: 'requests' }>): PaneList {
  const open = requestsOf(view, page.model);
  const chosen = selectedRequest(view, page);
  return {
    title: `Requests for ${page.model} (${open.length})`,
    header: headerRow(columnsFor(view), view.options.glyphs.cut),
    rows: open.map((request) => requestRow(request, view)),
    empty: ['nobody waits for it, and nobody is being answered'],
    selected: chosen === null ? -1 : open.indexOf(chosen),
  };
}

/** The oldest ones, for the page of the model; the rest is counted. */
export function requestRows(view: ScreenView, model: ModelId): Row[] {
  const open = requestsOf(view, model);
  const more = open.length - DETAIL_ROWS;
  return [
    ...open.slice(0, DETAIL_ROWS).map((request) => requestRow(request, view)),
    ...(more <= 0 ? [] : [[span(`and ${more} more`, 'dim')]]),
  ];
}

function requestRow({ id, kind, client, since, waiting }: RequestView, view: ScreenView): Row {
  return tableRow(
    columnsFor(view),
    {
      id: { text: id },
      state: waiting ? { text: 'waiting', tone: 'warn' } : { text: 'running', tone: 'busy' },
      age: { text: durationText(view.now - since) },
      client: { text: client ?? '-' },
      kind: { text: kind },
    },
    view.options.glyphs.cut,
  );
}
