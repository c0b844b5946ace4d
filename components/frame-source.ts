import type { Millis } from '../src/client/types.js';
import type { DomainStore } from '../src/store/domain-store.js';
import type { ScreenStore } from '../src/store/screen-store.js';
import { keyTexts } from './keys/key-texts.js';
import { drawFrame, NO_MEMORY, type FrameMemory } from './layout/frame.js';
import { waitingRow } from './layout/title.js';
import { themeOf } from './theme/choose-theme.js';
import type { Theme } from './theme/tones.js';
import { makeView, type ScreenOptions, type ScreenView } from './view.js';
import { paintRow } from './widgets/row.js';

/** The rows of the screen as they are to be drawn; the array changes only when a row does. */
export interface FrameSource {
  readonly subscribe: (listener: () => void) => () => void;
  readonly rows: () => readonly string[];
  /** What the rows were drawn from, with the stores as they are this very moment; null before the first snapshot. */
  readonly view: () => ScreenView | null;
  readonly pageSize: () => number;
  /** Rows that an open page has, with its title. */
  readonly bodyRows: () => number;
  close(): void;
}

/** Ages and waits are told in seconds at the finest. */
const TICK_MILLIS: Millis = 1_000;

/**
 * Draws whenever a store changes, once for all changes of one turn, and once a second for what only time
 * changes. Rows that come out equal cause nothing further: React and Ink do not hear of them.
 */
export function createFrameSource(
  domain: DomainStore,
  screen: ScreenStore,
  options: ScreenOptions,
  onError: (error: unknown) => void,
): FrameSource {
  const listeners = new Set<() => void>();
  let rows: readonly string[] = [];
  let memory: FrameMemory = NO_MEMORY;
  let pageSize = 1;
  let bodyRows = 1;
  let scheduled = false;

  const view = (): ScreenView | null => makeView(options, screen.getState(), domain.getState(), Date.now());

  function draw(): readonly string[] {
    const seen = view();
    const { viewport, theme: name } = screen.getState();
    const { columns } = viewport;
    const theme: Theme = themeOf(name, options.hasColours);
    if (seen === null) {
      return [paintRow(waitingRow(options.hostLabel, domain.getState(), columns, options.glyphs.cut), theme)];
    }
    const frame = drawFrame(seen, keyTexts(seen), memory);
    memory = frame.memory;
    pageSize = frame.pageSize;
    bodyRows = frame.bodyRows;
    if (frame.scroll !== seen.screen.scroll) screen.setState({ scroll: frame.scroll });
    return frame.rows.map((row) => paintRow(row, theme));
  }

  function refresh(): void {
    scheduled = false;
    try {
      const next = draw();
      if (next.length === rows.length && next.every((row, index) => row === rows[index])) return;
      rows = next;
    } catch (error) {
      onError(error);
      return;
    }
    for (const listener of listeners) listener();
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(refresh);
  }

  const ends = [domain.subscribe(schedule), screen.subscribe(schedule)];
  const ticker = setInterval(() => {
    const { message } = screen.getState();
    if (message !== null && Date.now() >= message.until) screen.setState({ message: null });
    schedule();
  }, TICK_MILLIS);
  refresh();

  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    rows: () => rows,
    view,
    pageSize: () => pageSize,
    bodyRows: () => bodyRows,
    close() {
      for (const end of ends) end();
      clearInterval(ticker);
    },
  };
}
