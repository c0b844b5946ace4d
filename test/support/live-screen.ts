import { join } from 'node:path';
import { keyTexts } from '../../components/keys/key-texts.js';
import { drawFrame, NO_MEMORY } from '../../components/layout/frame.js';
import { createSession, type Session } from '../../components/session.js';
import { ASCII } from '../../components/theme/glyphs.js';
import { PLAIN } from '../../components/theme/tones.js';
import { paintRow } from '../../components/widgets/row.js';
import type { ScreenOutcome } from '../../components/leave.js';
import { connectSupervisor, type ConnectOptions } from '../../src/client/supervisor-client.js';
import type { SupervisorClient } from '../../src/client/types.js';
import { pathsFor } from '../../src/supervisor/paths.js';
import type { Served } from './serving.js';
import { until } from './until.js';

/** A screen without a terminal before something real: whatever a key does is really done. */
export interface LiveScreen extends Disposable {
  readonly session: Session;
  readonly client: SupervisorClient;
  /** What was written past what is drawn. */
  readonly written: string[];
  /** What was asked of the terminal. */
  readonly asked: string[];
  /** How it ended; null: it has not. */
  outcome(): ScreenOutcome | null;
  /** What is to be seen at this very moment. */
  text(): string;
  press(...keys: string[]): void;
  /** Types a command after `:`. */
  command(line: string): void;
  /** The selection goes to this model, and every page is closed. */
  select(model: string): void;
  shows(wanted: string | RegExp): Promise<void>;
}

export function liveScreen(
  client: SupervisorClient,
  settings: { readonly owns?: boolean; readonly readOnly?: boolean } = {},
): LiveScreen {
  const written: string[] = [];
  const asked: string[] = [];
  let outcome: ScreenOutcome | null = null;
  const session = createSession({
    client,
    settings: {
      glyphs: ASCII,
      hasColours: false,
      readOnly: settings.readOnly ?? false,
      source: client.source,
      ownsSupervisor: settings.owns ?? false,
      hostLabel: null,
      program: 'llm-tui',
      earlierEnds: [],
    },
    theme: 'dark',
    listen: null,
    terminal: {
      columns: 140,
      rows: 40,
      write: (sequence) => void written.push(sequence),
      redraw: () => void asked.push('redraw'),
      suspend: () => void asked.push('suspend'),
    },
    env: {},
    finish: (ended) => (outcome ??= ended),
    fail(error) {
      throw error;
    },
  });
  session.start();
  const live: LiveScreen = {
    session,
    client,
    written,
    asked,
    outcome: () => outcome,
    text() {
      const view = session.frames.view();
      if (view === null) return '';
      return drawFrame(view, keyTexts(view), NO_MEMORY)
        .rows.map((row) => paintRow(row, PLAIN))
        .join('\n');
    },
    press(...keys) {
      for (const key of keys) session.press(key);
    },
    command(line) {
      live.press(':', ...Array.from(line, (letter) => (letter === ' ' ? 'space' : letter)), 'return');
    },
    select(model) {
      session.screen.setState((state) => ({
        page: null,
        dialog: null,
        input: null,
        frozen: null,
        zoom: false,
        filter: '',
        focus: 'models',
        selected: { ...state.selected, models: model },
      }));
    },
    shows: async (wanted) => {
      await until(`the screen shows ${String(wanted)}`, () =>
        typeof wanted === 'string' ? live.text().includes(wanted) : wanted.test(live.text()),
      ).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${live.text()}`);
      });
    },
    [Symbol.dispose]() {
      session.close();
      client.close();
    },
  };
  return live;
}

/** A screen on the machine of a supervisor: it may do everything. */
export async function liveScreenOf(served: Served, settings: { readonly owns?: boolean } = {}): Promise<LiveScreen> {
  const { socket } = pathsFor(served.stateDirectory, { XDG_RUNTIME_DIR: served.directory });
  const onEnd: ConnectOptions['onEnd'] = (listener) => {
    const ended = (exitCode: number | null, signal: string | null): void =>
      listener({ at: Date.now(), exitCode, signal, log: join(served.stateDirectory, 'serve.log') });
    served.process.once('exit', ended);
    return () => served.process.off('exit', ended);
  };
  const options = settings.owns === true ? { owner: true, onEnd } : {};
  const live = liveScreen(connectSupervisor({ socketPath: socket }, options), settings);
  await until('there is something to see', () => live.session.frames.view());
  return live;
}

/** The journal that a supervisor records. */
export function journalOf(served: Served): string {
  return join(served.stateDirectory, 'journal');
}
