import { PANES, type PaneId } from '../../src/store/screen-store.js';
import { decisionsList } from '../panes/decisions.js';
import { deviceRows } from '../panes/devices.js';
import { modelsList } from '../panes/models.js';
import { measureList, queueList } from '../panes/queues.js';
import type { PageContent } from '../panes/page-content.js';
import { isLost, titleAsOf } from '../text/last-known.js';
import { wrapText } from '../text/width.js';
import { drawPane, type PaneList } from '../widgets/pane.js';
import { besides, cutRow, span, wrapRow, type Row } from '../widgets/row.js';
import type { ScreenView } from '../view.js';
import { allot, isTooSmall, SMALLEST, type Allotment } from './allot.js';
import { choicesRows } from './choices-sheet.js';
import { choiceText, dialogRows, questionOf } from './dialog.js';
import { footerIsUrgent, footerRows, withMoving, type FooterTexts } from './footer.js';
import { drawOpenPage } from './page.js';
import { noticeRow } from './notice-row.js';
import { titleRow } from './title.js';

/** What the frames before have left behind: where each list was scrolled to. */
export interface FrameMemory {
  readonly offsets: Readonly<Record<PaneId, number>>;
}

export const NO_MEMORY: FrameMemory = { offsets: { devices: 0, models: 0, queue: 0, measure: 0, decisions: 0 } };

/** What the table of commands contributes to a frame. */
export interface KeyTexts extends FooterTexts {
  /** The help screen, made only where it is looked at. */
  readonly help: () => PageContent;
}

export interface Frame {
  /** At most as many as the terminal has. */
  readonly rows: readonly Row[];
  readonly memory: FrameMemory;
  /** How far PgUp and PgDn go. */
  readonly pageSize: number;
  /** Rows that an open page has, with its title. */
  readonly bodyRows: number;
  /** Where the open page really is, which may be less far than was asked for. */
  readonly scroll: number;
}

/** Draws the whole screen. Pure: the same view and memory always give the same rows. */
export function drawFrame(view: ScreenView, keys: KeyTexts, memory: FrameMemory): Frame {
  const { columns, rows } = view.screen.viewport;
  if (isTooSmall(view.screen.viewport))
    return { rows: tooSmall(view), memory, pageSize: 1, bodyRows: 1, scroll: view.screen.scroll };
  const notice = noticeRow(view, columns);
  const place = allot({
    columns,
    rows,
    devices: view.lists.devices.length,
    models: view.snapshot.models.length,
    notice: notice !== null,
    zoomed: view.screen.zoom ? view.screen.focus : null,
    focus: view.screen.focus,
  });
  const head: Row[] = [
    titleRow(view, columns),
    ...(place.notice > 0 && notice !== null ? [notice] : []),
    ...deviceRows(view, columns).slice(0, place.devices),
  ];
  const room = rows - head.length - place.hints;
  const page = view.screen.page;
  if (page !== null) {
    const drawn = drawOpenPage(page, view, keys.help, columns, room);
    const footer = footerRows(view, drawn.moves === null ? keys : withMoving(keys, drawn.moves, columns), columns);
    const all = fill([...head, ...drawn.rows], rows - place.hints);
    const pageSize = Math.max(1, room - 2);
    return { rows: finish(all, place, footer, view, keys), memory, pageSize, bodyRows: room, scroll: drawn.scroll };
  }
  const body = drawBody(view, place, memory, columns);
  const footer = footerRows(view, keys, columns);
  const all = fill([...head, ...body.rows], rows - place.hints);
  const focusedRows = view.screen.focus === 'devices' ? place.devices : place[view.screen.focus];
  return {
    rows: finish(all, place, footer, view, keys),
    memory: { offsets: body.offsets },
    pageSize: Math.max(1, focusedRows - 2),
    bodyRows: room,
    scroll: 0,
  };
}

/**
 * What it has and what it needs, with the question where one is open, since leaving must be possible at any size, or what
 * there is to say. The answers come before the question, and that before the size, where there is not room for all.
 */
function tooSmall(view: ScreenView): Row[] {
  const { columns, rows } = view.screen.viewport;
  const { dialog, message } = view.screen;
  const lines = (text: string): string[] => wrapText(text, columns);
  const needs = lines(`llm-tui needs ${SMALLEST.columns} x ${SMALLEST.rows}, this is ${columns} x ${rows}`);
  const question = dialog === null ? null : questionOf(dialog, view);
  const choices = (question?.choices ?? []).flatMap((choice) => lines(choiceText(choice)));
  const said = lines(question?.text ?? message?.text ?? '').filter((line) => line !== '');
  const asked = [...said.slice(0, Math.max(0, rows - choices.length)), ...choices];
  return [...needs.slice(0, Math.max(0, rows - asked.length)), ...asked]
    .slice(0, rows)
    .map((line): Row => [span(line)]);
}

function drawBody(
  view: ScreenView,
  place: Allotment,
  memory: FrameMemory,
  columns: number,
): { rows: Row[]; offsets: FrameMemory['offsets'] } {
  const { glyphs } = view.options;
  const offsets = { ...memory.offsets };
  const draw = (pane: PaneId, list: PaneList, width: number, height: number): readonly Row[] => {
    const focused =
      view.screen.focus === pane || (pane === 'models' && place.tabs > 0 && view.screen.focus === 'devices');
    const drawn = drawPane(
      pane === 'decisions' ? list : lastKnown(list, view),
      { width, height, focused, offset: offsets[pane] },
      glyphs,
    );
    offsets[pane] = drawn.offset;
    return fill(drawn.rows, height);
  };
  // The last column stays free between panes that stand side by side.
  const left = place.mode === 'wide' ? Math.floor(columns * (columns >= 140 ? 0.56 : 0.6)) : columns;
  const right = place.mode === 'wide' ? columns - left - 2 : columns;
  const models = draw('models', modelsList(view, left), left, place.models);
  const queue = draw('queue', queueList(view, right), right, place.queue);
  const measure = draw('measure', measureList(view, right), right, place.measure);
  const decisions = draw('decisions', decisionsList(view, columns), columns, place.decisions);
  const upper =
    place.mode === 'wide'
      ? besides(models, left, 2, [...queue, ...measure], glyphs.cut)
      : [...models, ...queue, ...measure];
  const tabs = place.tabs > 0 ? [tabRow(view, columns)] : [];
  return { rows: [...tabs, ...upper, ...decisions], offsets };
}

/** What nobody vouches for any more looks so: it says as of when it is, and has no colours but one. */
function lastKnown(list: PaneList, view: ScreenView): PaneList {
  if (!isLost(view)) return list;
  const faded = list.rows.map((row) => row.map(({ text }) => span(text, 'dim')));
  return { ...list, title: titleAsOf(list.title, view), rows: faded };
}

const TAB_NAMES: Readonly<Record<PaneId, string>> = {
  devices: 'Devices',
  models: 'Models',
  queue: 'Queue',
  measure: 'Measure',
  decisions: 'Decisions',
};

function tabRow(view: ScreenView, columns: number): Row {
  const tabs = PANES.flatMap((pane, index): Row => {
    const name = `${index + 1} ${TAB_NAMES[pane]}`;
    return pane === view.screen.focus ? [span(`[${name}]`, 'accent')] : [span(` ${name} `, 'dim')];
  });
  return cutRow(tabs, columns, view.options.glyphs.cut);
}

/** Puts what lies over the panes on the last rows. */
function finish(
  rows: readonly Row[],
  place: Allotment,
  footer: readonly Row[],
  view: ScreenView,
  { choices }: KeyTexts,
): readonly Row[] {
  const { columns, rows: height } = view.screen.viewport;
  const last = footer.slice(-1);
  const withLast = place.hints > 0 ? [...rows, ...last] : footerIsUrgent(view) ? [...rows.slice(0, -1), ...last] : rows;
  const { dialog, message } = view.screen;
  if (dialog !== null) {
    // The question lies over the row that messages stand in.
    const said = message === null ? [] : wrapRow([span(' '), span(message.text, message.tone)], columns);
    return withSheet(withLast, [...dialogRows(questionOf(dialog, view), view, columns), ...said], 0);
  }
  const half = Math.floor(height / 2);
  const said = footer.slice(0, -1).slice(0, half);
  if (choices?.isListed !== true) return withSheet(withLast, said, 1);
  const sheet = choicesRows(choices, columns, Math.max(2, half - said.length), view.options.glyphs);
  return withSheet(withLast, [...sheet, ...said], 1);
}

/** `sheet` over the last rows but `kept`. */
function withSheet(rows: readonly Row[], sheet: readonly Row[], kept: number): readonly Row[] {
  const end = rows.length - kept;
  return [...rows.slice(0, end - sheet.length), ...sheet, ...rows.slice(end)];
}

function fill(rows: readonly Row[], height: number): Row[] {
  return Array.from({ length: Math.max(0, height) }, (_, index) => rows[index] ?? []);
}
