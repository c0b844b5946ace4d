import type { DomainStore } from '../../src/store/domain-store.js';
import type { ScreenStore } from '../../src/store/screen-store.js';
import type { FrameSource } from '../frame-source.js';
import { keyTexts } from '../keys/key-texts.js';
import { waitingText } from '../layout/title.js';
import { PLAIN } from '../theme/tones.js';
import { makeView, type ScreenOptions, type ScreenView } from '../view.js';
import { paintRow } from '../widgets/row.js';
import { announce } from './announce.js';

/** Ages and expired messages are looked at as often. */
const TICK_MILLIS = 1_000;
/** Rows that PgUp and PgDn go. */
const PAGE_SIZE = 10;
const NO_ROWS: readonly string[] = [];

export interface LinearSource extends FrameSource {
  /** Says again what is there. */
  again(): void;
  /** A key was pressed that is answered here, whatever comes of it. */
  pressed(key: string): void;
}

/**
 * The screen for those who listen to it: nothing is drawn, and nothing that was written changes any more; each piece of
 * news and each answer to a key is a line of its own.
 */
export function createLinearSource(
  domain: DomainStore,
  screen: ScreenStore,
  options: ScreenOptions,
  write: (line: string) => void,
  onError: (error: unknown) => void,
): LinearSource {
  let told: ScreenView | null = null;
  let waiting = '';
  let scheduled = false;
  let pressed: string | null = null;

  const view = (): ScreenView | null => makeView(options, screen.getState(), domain.getState(), Date.now());

  function tell(): void {
    scheduled = false;
    try {
      const now = view();
      if (now === null) return tellWaiting();
      for (const line of announce(told, now, keyTexts, pressed)) write(line);
      told = now;
      pressed = null;
    } catch (error) {
      onError(error);
    }
  }

  function tellWaiting(): void {
    const line = paintRow(waitingText(options.hostLabel, domain.getState()), PLAIN);
    if (line !== waiting) write(line);
    waiting = line;
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(tell);
  }

  const ends = [domain.subscribe(schedule), screen.subscribe(schedule)];
  const ticker = setInterval(() => {
    const { message } = screen.getState();
    if (message !== null && Date.now() >= message.until) screen.setState({ message: null });
  }, TICK_MILLIS);
  tell();

  return {
    subscribe: () => () => undefined,
    rows: () => NO_ROWS,
    view,
    pageSize: () => PAGE_SIZE,
    bodyRows: () => PAGE_SIZE,
    again() {
      told = null;
      schedule();
    },
    pressed(key) {
      pressed = key;
      schedule();
    },
    close() {
      for (const end of ends) end();
      clearInterval(ticker);
    },
  };
}
