import { createStore, type StoreApi } from 'zustand/vanilla';
import type { DeviceName, Millis, ModelId, PlanView, Snapshot } from '../client/types.js';

export const PANES = ['devices', 'models', 'queue', 'measure', 'decisions'] as const;
export type PaneId = (typeof PANES)[number];

export const SORTS = ['catalog', 'name', 'state', 'memory', 'idle'] as const;
export type Sort = (typeof SORTS)[number];

/** What `w` explains. */
export type WhySubject =
  | { readonly kind: 'decision'; readonly number: number }
  | { readonly kind: 'model'; readonly model: ModelId }
  | { readonly kind: 'device'; readonly device: DeviceName };

/** What lies over the panes. */
export type Page =
  | { readonly kind: 'help' }
  | { readonly kind: 'detail'; readonly model: ModelId }
  | { readonly kind: 'logs'; readonly model: ModelId }
  | { readonly kind: 'why'; readonly subject: WhySubject }
  | { readonly kind: 'plan'; readonly model: ModelId; readonly plan: PlanView | null; readonly error: string | null };

/** A question that has the keys until it is answered; Esc is always the safe answer. */
export type Dialog =
  | { readonly kind: 'leave' }
  | { readonly kind: 'confirm'; readonly action: 'unload' | 'kill'; readonly model: ModelId };

/** A line that is being typed. */
export interface LineInput {
  readonly kind: 'filter' | 'command';
  readonly text: string;
  /** What Esc goes back to. */
  readonly before: string;
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
  readonly error: string | null;
}

/** Everything that this screen alone knows; nothing in it is about models. */
export interface ScreenState {
  readonly viewport: { readonly columns: number; readonly rows: number };
  readonly focus: PaneId;
  /** By id, so that it stays put when rows move; null: the first row. */
  readonly selected: Readonly<Record<PaneId, string | null>>;
  readonly filter: string;
  readonly sort: Sort;
  readonly zoom: boolean;
  readonly page: Page | null;
  /** First visible line of the page. */
  readonly scroll: number;
  readonly dialog: Dialog | null;
  readonly input: LineInput | null;
  readonly message: Message | null;
  /** What the frozen view shows, and the time it was frozen; null: live. */
  readonly frozen: { readonly snapshot: Snapshot; readonly now: Millis } | null;
  readonly logTail: LogTail | null;
  /** Set once everything is being stopped at this screen's wish. */
  readonly stopping: boolean;
}

export type ScreenStore = StoreApi<ScreenState>;

export function createScreenStore(viewport: { columns: number; rows: number }): ScreenStore {
  return createStore<ScreenState>()(() => ({
    viewport,
    focus: 'models',
    selected: { devices: null, models: null, queue: null, measure: null, decisions: null },
    filter: '',
    sort: 'catalog',
    zoom: false,
    page: null,
    scroll: 0,
    dialog: null,
    input: null,
    message: null,
    frozen: null,
    logTail: null,
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
  store.setState({ page, scroll: 0 });
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

export function nextSort(store: ScreenStore): Sort {
  const index = SORTS.indexOf(store.getState().sort);
  const sort = SORTS[(index + 1) % SORTS.length] ?? 'catalog';
  store.setState({ sort });
  return sort;
}
