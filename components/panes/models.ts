import type { DeviceBytes, Millis, ModelView } from '../../src/client/types.js';
import { durationText, gibText, idleText, sumBytes, tokensText } from '../text/format.js';
import { visibleText } from '../text/clean.js';
import { requestsText, stateOf } from '../text/model-state.js';
import { textWidth } from '../text/width.js';
import { UNKNOWN_MARK } from '../theme/model-marks.js';
import type { PaneList } from '../widgets/pane.js';
import { cell, span, type Row } from '../widgets/row.js';
import { headerRow, tableRow, tableWidth, type CellText, type Column } from '../widgets/table.js';
import { selectedIndex, type ScreenView } from '../view.js';

/** System memory, as a device. */
const HOST = 'Host';

/** From this width of the pane on there is room for what models hold of the host besides. */
const HOST_FROM = 90;

/** The columns that say nothing of a model that is being loaded; there its progress stands instead. */
const NOT_WHILE_LOADING: ReadonlySet<string> = new Set(['context', 'requests', 'idle', 'origin']);

/** The columns that say nothing of a model that has failed; there the reason stands instead. */
const NOT_AFTER_FAILURE: ReadonlySet<string> = new Set(['on', 'memory', 'host', ...NOT_WHILE_LOADING]);

/** Fewer cells say nothing of a path. */
const ORIGIN_LEAST = 24;
/** Numbers stand at the right end of the column before it. */
const ORIGIN_GAP = ' ';

/** Names as long as this are shown whole before anything that can be spared, */
const NAME_WANTED = 28;
/** and shorter ones before anything else. */
const NAME_LEAST = 14;

/** The models pane: one row per model, in a width of `width` cells. */
export function modelsList(view: ScreenView, width: number): PaneList {
  const { glyphs } = view.options;
  const columns = modelColumns(view, width - 2);
  return {
    title: listTitle('Models', view.lists.models.length, view.snapshot.models.length, view.screen.sort),
    header: headerRow(columns, glyphs.cut),
    rows: view.lists.models.map((model) => modelRow(model, columns, view, width - 2)),
    empty: emptyText(view),
    selected: selectedIndex(view.lists, view.screen, 'models'),
  };
}

function modelColumns(view: ScreenView, width: number): Column[] {
  const on = Math.max(2, ...view.lists.models.map((model) => textWidth(devicesText(model))));
  const requests = Math.max(3, ...view.lists.models.map((model) => requestsText(model, view.snapshot).text.length));
  const hasHost =
    width >= HOST_FROM &&
    view.snapshot.models.some(({ claim }) => (claim[HOST] ?? 0) > 0 && Object.keys(claim).length > 1);
  const fixed: Column[] = [
    { key: 'mark', title: '', width: 1, align: 'left' },
    { key: 'name', title: 'NAME', width: 0, align: 'left', cutAt: 'middle' },
    { key: 'flags', title: '', width: 2, align: 'left' },
    { key: 'state', title: 'STATE', width: 8, align: 'left' },
    { key: 'on', title: 'ON', width: Math.min(on, width >= 80 ? 12 : 8), align: 'left' },
    { key: 'memory', title: 'GiB min/used', width: 12, align: 'right' },
    ...(hasHost ? [{ key: 'host', title: 'HOST', width: 5, align: 'right' } as const] : []),
    { key: 'context', title: 'CTX', width: 5, align: 'right' },
    { key: 'requests', title: 'REQ', width: requests, align: 'right' },
    { key: 'idle', title: 'IDLE', width: 5, align: 'right' },
  ];
  const longest = Math.max(12, ...view.snapshot.models.map((model) => textWidth(visibleText(model.id))));
  const room = (columns: readonly Column[]): number => width - tableWidth(columns);
  // A name is worth more than the context length, but not more than where the model runs.
  const wanted = { context: Math.min(longest, NAME_WANTED), on: Math.min(longest, NAME_LEAST) };
  const columns = (['context', 'on'] as const).reduce(
    (kept, key) => (room(kept) >= wanted[key] ? kept : kept.filter((column) => column.key !== key)),
    fixed,
  );
  const nameWidth = Math.max(4, Math.min(longest, room(columns)));
  const named = columns.map((column) => (column.key === 'name' ? { ...column, width: nameWidth } : column));
  // What a wide screen has left: where each of them comes from.
  const origin = Math.min(
    width - tableWidth(named) - ORIGIN_GAP.length - 1,
    Math.max(0, ...view.snapshot.models.map((model) => textWidth(visibleText(model.origin ?? '')) + ORIGIN_GAP.length)),
  );
  if (origin < ORIGIN_LEAST) return named;
  return [...named, { key: 'origin', title: `${ORIGIN_GAP}FROM`, width: origin, align: 'left', cutAt: 'middle' }];
}

function modelRow(model: ModelView, columns: readonly Column[], view: ScreenView, width: number): Row {
  const { glyphs } = view.options;
  const mark = view.marks.get(model.id) ?? UNKNOWN_MARK;
  const loaded = model.generation !== null;
  const { word, tone } = stateOf(model, view.snapshot);
  const tellsRequests = view.options.source.kind !== 'router';
  const cells: Record<string, CellText> = {
    mark: { text: mark.letter, tone: loaded ? mark.tone : 'dim' },
    name: { text: model.id, tone: loaded ? 'plain' : 'dim' },
    flags: { text: `${model.pinned ? '*' : ''}${model.blocked ? 'B' : ''}`, tone: 'warn' },
    state: { text: word, tone },
    on: { text: devicesText(model), tone: loaded ? 'plain' : 'dim' },
    memory: { text: memoryText(model), tone: loaded ? 'plain' : 'dim' },
    host: { text: hostText(model), tone: loaded ? 'plain' : 'dim' },
    context: { text: tokensText(model.contextTokens) },
    requests: tellsRequests ? requestsText(model, view.snapshot) : { text: '-' },
    origin: { text: `${ORIGIN_GAP}${model.origin ?? ''}`, tone: 'dim' },
    idle: { text: model.lastUsedAt === null || model.requests > 0 ? '-' : idleText(view.now - model.lastUsedAt) },
  };
  const roomWithout = (gone: ReadonlySet<string>): number =>
    Math.max(0, width - tableWidth(columns.filter((column) => !gone.has(column.key))) - 2);
  const remark = remarkOf(model, view.now, roomWithout(NOT_WHILE_LOADING));
  if (remark === null) return tableRow(columns, cells, glyphs.cut);
  const head = columns.filter((column) => !remark.insteadOf.has(column.key));
  const room = roomWithout(remark.insteadOf);
  return [...tableRow(head, cells, glyphs.cut), span('  '), cell(remark.text, room, glyphs.cut, remark.tone)];
}

/** What is to be said instead of some columns. */
interface Remark extends Required<CellText> {
  readonly insteadOf: ReadonlySet<string>;
}

function remarkOf(model: ModelView, now: Millis, room: number): Remark | null {
  const failed = (text: string): Remark => ({ text, tone: 'bad', insteadOf: NOT_AFTER_FAILURE });
  switch (model.word) {
    case 'loading':
      return { text: loadingText(model, now, room), tone: 'busy', insteadOf: NOT_WHILE_LOADING };
    case 'failed':
      return model.lastExit === null ? null : failed(model.lastExit.reason);
    case 'invalid':
      return model.invalid === null ? null : failed(model.invalid);
    case 'unloaded':
    case 'ready':
    case 'sleeping':
    case 'parked':
    case 'stopping':
      return null;
  }
}

/** A load is late once it takes so much longer than the one before, */
const LATE_FACTOR = 1.2;
/** and by so much at least: a second more or less means nothing. */
const LATE_LEAST_MILLIS: Millis = 2_000;

/**
 * `42% eta 8s`: the progress where the child tells it, the rest from how long the latest load took. In less room than
 * that takes, the time alone.
 */
export function loadingText(model: ModelView, now: Millis, room: number = Infinity): string {
  const { progress, loadingSince, loadMillis } = model;
  const percent = progress === null ? 0 : Math.floor(progress * 100);
  const elapsed = loadingSince === null ? null : now - loadingSince;
  const over = elapsed === null || loadMillis === null ? null : elapsed - loadMillis;
  const late =
    over !== null && loadMillis !== null && over >= Math.max(LATE_LEAST_MILLIS, loadMillis * (LATE_FACTOR - 1));
  const ahead = over === null || over >= 0 ? null : `eta ${durationText(999 - over)}`;
  const behind = late ? `late ${durationText(over)}` : null;
  const told = percent > 0 ? `${percent}%` : null;
  const passed =
    elapsed === null || (told !== null && (ahead ?? behind) !== null) ? null : `for ${durationText(elapsed)}`;
  const time = [passed, ahead, behind].filter((part) => part !== null);
  const whole = [...(told === null ? [] : [told]), ...time].join(' ');
  return textWidth(whole) <= room ? whole : (time.at(-1) ?? whole);
}

/** What models mostly compete for is the memory of devices. A model that needs none there is told by the host's. */
function memoryText(model: ModelView): string {
  const claim = sumBytes(deviceBytes(model.claim));
  const resident = model.generation === null ? null : sumBytes(deviceBytes(model.resident, model.claim));
  const min = claim === null ? '-' : `${model.claimQuality === 'estimate' ? '~' : ''}${gibText(claim)}`;
  return `${min}/${(resident === null ? '-' : gibText(resident)).padStart(4)}`;
}

/** Without the host's part, where there is another one: RAM and VRAM are not one amount. */
function deviceBytes(bytes: DeviceBytes, like: DeviceBytes = bytes): DeviceBytes {
  const onDevices = Object.entries(like).some(([name, amount]) => name !== HOST && amount > 0);
  return Object.fromEntries(Object.entries(bytes).filter(([name]) => (name === HOST) !== onDevices));
}

/** `-` for a model that needs none, or only of the host. */
function hostText({ claim, resident, generation }: ModelView): string {
  const bytes = generation === null ? claim[HOST] : (resident[HOST] ?? claim[HOST]);
  return bytes === undefined || bytes === 0 ? '-' : gibText(bytes);
}

/** `0`, `0,1`, `Host`: the numbers alone where the devices are of one kind, as nearly everywhere. */
function devicesText(model: ModelView): string {
  const names = model.devices.filter((name) => name !== HOST || model.devices.length === 1);
  const numbers = names.map((name) => /^CUDA(\d+)$/.exec(name)?.[1]);
  return names.length > 0 && numbers.every((number) => number !== undefined)
    ? numbers.join(',')
    : names.join(',') || '-';
}

/** The title of a list: how many rows, how many of how many where a filter hides some, and the order. */
function listTitle(name: string, shown: number, all: number, sort: string): string {
  const count = shown === all ? `${all}` : `${shown} of ${all}`;
  return `${name} (${count})${sort === 'catalog' ? '' : ` by ${sort}`}`;
}

function emptyText({ snapshot, screen: { filter }, options: { source } }: ScreenView): string[] {
  if (snapshot.models.length > 0) return [`no model matches "${filter}"; / changes the filter, Esc clears it`];
  if (source.kind === 'replay') return ['no models were known yet'];
  if (source.kind === 'router') return ['the router has no models'];
  const { sources } = snapshot.supervisor;
  return [
    'no models found',
    ...(sources.length === 0
      ? ['no place to look for models was given']
      : sources.map((source) => `looked in ${source}`)),
    'point elsewhere: --models-dir DIR for a folder of .gguf files,',
    '--models-preset FILE.ini for a preset file',
  ];
}
