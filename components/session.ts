import type { SupervisorClient } from '../src/client/types.js';
import type { DomainStore } from '../src/store/domain-store.js';
import { createDomainStore } from '../src/store/domain-store.js';
import { feedDomainStore } from '../src/store/feed.js';
import { createScreenStore, openPage, say, type ScreenStore, type ThemeName } from '../src/store/screen-store.js';
import { copySequence } from './clipboard.js';
import { createFrameSource, type FrameSource } from './frame-source.js';
import type { CommandContext } from './keys/command.js';
import { commandForKey } from './keys/commands.js';
import { dispatchKey, dispatchPaste } from './keys/dispatch.js';
import { actOn } from './keys/act-on.js';
import { createLeaving, type ScreenOutcome } from './leave.js';
import { createLinearSource } from './linear/linear-source.js';
import { askAboutTheEnd } from './ask-about-the-end.js';
import { readLogs } from './log-reader.js';
import type { ScreenOptions, ScreenView } from './view.js';

/** What a session needs of the terminal that it is shown in. */
export interface SessionTerminal {
  readonly columns: number;
  readonly rows: number;
  /** Writes past what is drawn; nothing that moves the cursor. */
  write(sequence: string): void;
  redraw(): void;
  suspend(): void;
}

export interface SessionOptions {
  readonly client: SupervisorClient;
  readonly settings: ScreenOptions;
  readonly theme: ThemeName;
  /** Where lines are written for those who listen; null: rows are drawn. */
  readonly listen: ((line: string) => void) | null;
  readonly terminal: SessionTerminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly finish: (outcome: ScreenOutcome) => void;
  readonly fail: (error: unknown) => void;
}

/** Everything of a screen but the terminal: its stores, its rows, and what its keys do. */
export interface Session {
  readonly domain: DomainStore;
  readonly screen: ScreenStore;
  readonly frames: FrameSource;
  readonly press: (key: string) => void;
  readonly paste: (text: string) => void;
  /** Says again what is there, to those who listen. */
  readonly again: () => void;
  /** Begins to listen. */
  start(): void;
  close(): void;
}

/** True for a key whose answer comes from the supervisor. */
function isAsked(view: ScreenView | null, key: string): boolean {
  if (view === null) return true;
  const { dialog, input } = view.screen;
  return dialog === null && input === null && commandForKey(key)?.acts === true;
}

/** Nothing is asked of the client before `start`. */
export function createSession(options: SessionOptions): Session {
  const { client, settings, theme, listen, terminal, env, finish, fail } = options;
  const domain = createDomainStore();
  const screen = createScreenStore({ columns: terminal.columns, rows: terminal.rows }, theme);
  const listened = listen === null ? null : createLinearSource(domain, screen, settings, listen, fail);
  const frames = listened ?? createFrameSource(domain, screen, settings, fail);
  const leaving = createLeaving(client, domain, screen, `${settings.program} attach`, finish);
  const context: CommandContext = {
    domain,
    screen,
    client,
    options: settings,
    view: frames.view,
    pageSize: frames.pageSize,
    bodyRows: frames.bodyRows,
    redraw: () => (listened === null ? terminal.redraw() : listened.again()),
    suspend: () => terminal.suspend(),
    copy(text) {
      const { sequence, whole } = copySequence(text, env);
      terminal.write(sequence);
      if (!whole) say(screen, 'bad', 'copied only its beginning: terminals take no more at once');
    },
    answer: (answer, dialog) => {
      switch (answer) {
        case 'detach':
          return leaving.detach();
        case 'leave':
          return leaving.leave();
        case 'stop-all':
          return leaving.stopAll();
        case 'start-again':
          return leaving.startAgain();
        case 'notices':
          return openPage(screen, { kind: 'notices' });
        case 'confirm':
          if (dialog?.kind === 'confirm') actOn(context, dialog.action, dialog.model, dialog.request);
          return;
        case 'cancel':
          return;
      }
    },
  };
  const guarded =
    (handle: (context: CommandContext, value: string) => void) =>
    (value: string): void => {
      try {
        handle(context, value);
      } catch (error) {
        fail(error);
      }
    };
  let ends: (() => void)[] = [];
  return {
    domain,
    screen,
    frames,
    press: guarded((given, key) => {
      const asks = isAsked(given.view(), key);
      dispatchKey(given, key);
      if (!asks) listened?.pressed(key);
    }),
    again: () => listened?.again(),
    paste: guarded(dispatchPaste),
    start() {
      ends = [
        readLogs(client, screen),
        askAboutTheEnd(domain, screen),
        feedDomainStore(domain, client, () => screen.getState().refreshMillis),
      ];
    },
    close() {
      for (const end of ends) end();
      leaving.close();
      frames.close();
    },
  };
}
