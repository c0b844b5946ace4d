import type { ActionResult, ClientMessage, PlanView, Snapshot, SupervisorClient } from '../../src/client/types.js';
import { createDomainStore, receive, type DomainStore } from '../../src/store/domain-store.js';
import { createScreenStore, type ScreenStore } from '../../src/store/screen-store.js';
import type { CommandContext } from '../../components/keys/command.js';
import { keyTexts } from '../../components/keys/key-texts.js';
import { SUPERVISOR } from '../../src/client/sources.js';
import { dispatchKey } from '../../components/keys/dispatch.js';
import { drawFrame, NO_MEMORY, type Frame } from '../../components/layout/frame.js';
import { ASCII } from '../../components/theme/glyphs.js';
import { PLAIN } from '../../components/theme/tones.js';
import { makeView, type ScreenOptions, type ScreenView } from '../../components/view.js';
import { paintRow } from '../../components/widgets/row.js';
import { SAMPLE_TIME } from './snapshots.js';

/** A screen without a terminal: the real stores, keys and frames, and a client that writes down what it is asked. */
export interface ScreenWorld {
  readonly domain: DomainStore;
  readonly screen: ScreenStore;
  /** What the client was asked for, e.g. `load phi-4`. */
  readonly asked: string[];
  /** What was answered to questions, e.g. `detach`. */
  readonly answers: string[];
  /** What the terminal was told to copy. */
  readonly copied: string[];
  /** What actions answer with. */
  result: ActionResult | Promise<ActionResult>;
  receive(message: ClientMessage): void;
  /** Lets time go by. */
  pass(millis: number): void;
  press(...keys: string[]): void;
  view(): ScreenView;
  frame(): Frame;
  /** The rows as text. */
  lines(): string[];
  text(): string;
  /** The row that is marked as selected, in the pane that has the keys. */
  selectedRow(): string | undefined;
}

export function createScreenWorld(
  snapshot: Snapshot,
  settings: { columns?: number; rows?: number; options?: Partial<ScreenOptions> } = {},
): ScreenWorld {
  const domain = createDomainStore();
  const screen = createScreenStore({ columns: settings.columns ?? 140, rows: settings.rows ?? 40 });
  const options: ScreenOptions = {
    glyphs: ASCII,
    hasColours: false,
    readOnly: false,
    source: SUPERVISOR,
    ownsSupervisor: false,
    hostLabel: 'rig1:8080',
    program: 'llm-tui',
    earlierEnds: [],
    ...settings.options,
  };
  let memory = NO_MEMORY;
  let now = SAMPLE_TIME;
  const plan: PlanView = { model: 'phi-4', outcome: 'fits', sentence: 'phi-4 fits on CUDA1', decision: null };
  const client: SupervisorClient = {
    source: options.source,
    recording: null,
    subscribe: () => () => undefined,
    act(action, model, request) {
      world.asked.push(`${action} ${request ?? model}`);
      return Promise.resolve(world.result);
    },
    plan(model) {
      world.asked.push(`plan ${model}`);
      return Promise.resolve(plan);
    },
    reload() {
      world.asked.push('reload');
      return Promise.resolve({ ok: true, report: { added: [], changed: [], removed: [], errors: [] } });
    },
    logs: () => Promise.resolve([]),
    followLog: () => () => undefined,
    stopAll: () => Promise.resolve({ ok: true }),
    detach: () => Promise.resolve({ ok: true }),
    close: () => undefined,
  };
  const context: CommandContext = {
    domain,
    screen,
    client,
    options,
    view: () => (domain.getState().snapshot === null ? null : world.view()),
    pageSize: () => world.frame().pageSize,
    bodyRows: () => world.frame().bodyRows,
    copy: (text) => void world.copied.push(text),
    redraw: () => world.answers.push('redraw'),
    suspend: () => world.answers.push('suspend'),
    answer: (answer, dialog) =>
      world.answers.push(
        dialog?.kind === 'confirm'
          ? [answer, dialog.action, dialog.model, dialog.request ?? ''].join(' ').trim()
          : answer,
      ),
  };
  const world: ScreenWorld = {
    domain,
    screen,
    asked: [],
    answers: [],
    copied: [],
    result: { ok: true },
    receive: (message) => domain.setState(receive(domain.getState(), message, now), true),
    pass(millis) {
      now += millis;
    },
    press(...keys) {
      for (const key of keys) dispatchKey(context, key);
    },
    view() {
      const view = makeView(options, screen.getState(), domain.getState(), now);
      if (view === null) throw new Error('There is no snapshot yet.');
      return view;
    },
    frame() {
      const view = world.view();
      const frame = drawFrame(view, keyTexts(view), memory);
      memory = frame.memory;
      if (frame.scroll !== view.screen.scroll) screen.setState({ scroll: frame.scroll });
      return frame;
    },
    lines: () => world.frame().rows.map((row) => paintRow(row, PLAIN).trimEnd()),
    text: () => world.lines().join('\n'),
    selectedRow: () => world.lines().find((line) => line.startsWith('> ')),
  };
  world.receive({ type: 'snapshot', snapshot });
  return world;
}
