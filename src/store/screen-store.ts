import { createStore, type StoreApi } from 'zustand/vanilla';
import { FIGURES_INTERVAL_MILLIS } from './rates.js';
import type { DeviceName, Millis, ModelId, PlanView, Snapshot } from '../client/types.js';

export const PANES = ['devices', 'models', 'queue', 'measure', 'decisions'] as const;
export type PaneId = (typeof PANES)[number];

export const SORTS = ['catalog', 'name', 'state', 'memory', 'idle'] as const;
export type Sort = (typeof SORTS)[number];

export const THEMES = ['dark', 'light', 'mono'] as const;
export type ThemeName = (typeof THEMES)[number];

/** What `w` explains. */
export type WhySubject =
  | { readonly kind: 'decision'; readonly number: number }
  | { readonly kind: 'model'; readonly model: ModelId }
  | { readonly kind: 'device'; readonly device: DeviceName };

/** What lies over the panes. */
export type Page =
  | { readonly kind: 'help' }
  | { readonly kind: 'notices' }
  | { readonly kind: 'detail'; readonly model: ModelId }
  | { readonly kind: 'logs'; readonly model: ModelId }
  /** Null: the first one is selected. */
  | { readonly kind: 'requests'; readonly model: ModelId; readonly selected: string | null }
  | { readonly kind: 'why'; readonly subject: WhySubject }
  /** The report to a decision, by its number. */
  | { readonly kind: 'out-of-memory'; readonly decision: number }
  | { readonly kind: 'plan'; readonly model: ModelId; readonly plan: PlanView | null; readonly error: string | null };

/** A question that has the keys until it is answered; Esc is always the safe answer. */
export type Dialog =
  | { readonly kind: 'leave' }
  /** The supervisor has ended by itself: what now? */
  | { readonly kind: 'ended' }
  | {
      readonly kind: 'confirm';
      readonly action: 'unload' | 'kill' | 'cancel';
      readonly model: ModelId;
      /** With `cancel`: this one alone. */
      readonly request?: string;
    };

/** A line that is being typed. */
export interface LineInput {
  readonly kind: 'filter' | 'command' | 'search';
  readonly text: string;
  /** What Esc goes back to. */
  readonly before: string;
  /** Which of the commands before it shows, counted from the newest; absent: what is being typed. */
  readonly recall?: number;
  /** What may follow is listed: to `of`, what was typed by then; `at`: the one that was put into the line, or none yet. */
  readonly listed?: { readonly of: string; readonly at: number | null };
}

export interface Message {
  readonly tone: 'good' | 'bad' | 'plain';
  readonly text: string;
  /** Local time at which it may go. */
  readonly until: Millis;
}

/** The last lines of one model's child. */
export interface LogTail {
  readonly model: ModelId;
  readonly lines: readonly string[];
  /** How many came before these and are no longer kept: lines keep their numbers while older ones go. */
  readonly dropped: number;
  readonly error: string | null;
}

/** How a log is looked at. */
export interface LogView {
  readonly wrap: boolean;
  /** The first row on the screen: the number of its line and its place in that line; null: it follows the end. */
  readonly top: LogPlace | null;
  /** Empty: nothing is looked for. */
  readonly search: string;
  /** The number of the line that was found last; null: none. */
  readonly found: number | null;
}

/** A row of a log: a line, counted from the first that was ever read, and which of its rows. */
export interface LogPlace {
  readonly line: number;
  readonly row: number;
}

/** As a log is opened: at its end, and all of it to be read. */
export const LOG_START: LogView = { wrap: true, top: null, search: '', found: null };

/** Everything that this screen alone knows; nothing in it is about models. */
export interface ScreenState {
  readonly viewport: { readonly columns: number; readonly rows: number };
  readonly focus: PaneId;
  /** By id, so that it stays put when rows move; null: the first row. */
  readonly selected: Readonly<Record<PaneId, string | null>>;
  readonly filter: string;
  readonly sort: Sort;
  readonly theme: ThemeName;
  readonly zoom: boolean;
  readonly page: Page | null;
  /** First visible line of the page. */
  readonly scroll: number;
  readonly dialog: Dialog | null;
  readonly input: LineInput | null;
  readonly message: Message | null;
  /** What the frozen view shows, and the time it was frozen; null: live. */
  readonly frozen: { readonly snapshot: Snapshot; readonly now: Millis; readonly logTail: LogTail | null } | null;
  readonly logTail: LogTail | null;
  readonly logView: LogView;
  /** The commands that were typed, oldest first; a few at most. */
  readonly history: readonly string[];
  /** How often figures are drawn. */
  readonly refreshMillis: Millis;
  /** Number of the latest decision whose out-of-memory report was looked at; 0: none was. */
  readonly reportSeen: number;
  /** Set once everything is being stopped at this screen's wish. */
  readonly stopping: boolean;
}

export type ScreenStore = StoreApi<ScreenState>;

export function createScreenStore(viewport: { columns: number; rows: number }, theme: ThemeName = 'dark'): ScreenStore {
  return createStore<ScreenState>()(() => ({
    viewport,
    focus: 'models',
    selected: { devices: null, models: null, queue: null, measure: null, decisions: null },
    filter: '',
    sort: 'catalog',
    theme,
    zoom: false,
    page: null,
    scroll: 0,
    dialog: null,
    input: null,
    message: null,
    frozen: null,
    logTail: null,
    logView: LOG_START,
    history: [],
    refreshMillis: FIGURES_INTERVAL_MILLIS,
    reportSeen: 0,
    stopping: false,
  }));
}

export function focusPane(store: ScreenStore, pane: PaneId): void {
  store.setState({ focus: pane, page: null });
}

/** The pane `by` places further, around the end. */
export function focusNextPane(store: ScreenStore, by: 1 | -1): void {
  const index = PANES.indexOf(store.getState().focus);
  focusPane(store, PANES[(index + by + PANES.length) % PANES.length] ?? 'models');
}

export function select(store: ScreenStore, pane: PaneId, id: string | null): void {
  store.setState((state) => ({ selected: { ...state.selected, [pane]: id } }));
}

export function openPage(store: ScreenStore, page: Page): void {
  store.setState((state) => ({ page, scroll: 0, logView: { ...LOG_START, wrap: state.logView.wrap } }));
}

export function closePage(store: ScreenStore): void {
  store.setState({ page: null, scroll: 0 });
}

export function openDialog(store: ScreenStore, dialog: Dialog | null): void {
  store.setState({ dialog });
}

/** How long a message stands: what went wrong takes longer to read than what went well. */
const MESSAGE_MILLIS: Readonly<Record<Message['tone'], Millis>> = { good: 3_000, plain: 3_000, bad: 8_000 };

/** Says something beside the keys, for as long as it takes to read it or for `millis`. */
export function say(
  store: ScreenStore,
  tone: Message['tone'],
  text: string,
  millis: Millis = MESSAGE_MILLIS[tone],
): void {
  store.setState({ message: { tone, text, until: Date.now() + millis } });
}

/** How often figures may be drawn, from often to seldom. */
export const REFRESH_RATES: readonly Millis[] = [200, FIGURES_INTERVAL_MILLIS, 1_000, 2_000, 5_000, 10_000];

/** The next rate: `1` oftener, `-1` less often; at an end it stays. */
export function changeRefresh(store: ScreenStore, by: 1 | -1): Millis {
  const index = REFRESH_RATES.indexOf(store.getState().refreshMillis);
  const refreshMillis = REFRESH_RATES[index - by] ?? store.getState().refreshMillis;
  store.setState({ refreshMillis });
  return refreshMillis;
}

const HISTORY_KEPT = 50;

/** Keeps a command for the next time; one that is typed again moves to the end. */
export function rememberCommand(store: ScreenStore, text: string): void {
  store.setState(({ history }) => ({
    history: [...history.filter((known) => known !== text), text].slice(-HISTORY_KEPT),
  }));
}

/** The log as it is to be shown: what was there when the view was frozen, or what is there now. */
export function shownLog({ frozen, logTail }: Pick<ScreenState, 'frozen' | 'logTail'>): LogTail | null {
  return frozen === null ? logTail : frozen.logTail;
}

export function nextSort(store: ScreenStore): Sort {
  const index = SORTS.indexOf(store.getState().sort);
  const sort = SORTS[(index + 1) % SORTS.length] ?? 'catalog';
  store.setState({ sort });
  return sort;
}

export function nextTheme(store: ScreenStore): ThemeName {
  const index = THEMES.indexOf(store.getState().theme);
  const theme = THEMES[(index + 1) % THEMES.length] ?? 'dark';
  store.setState({ theme });
  return theme;
}
