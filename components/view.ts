import type {
  Ability,
  Decision,
  DeviceView,
  Millis,
  ModelId,
  ModelView,
  QueueView,
  RecordedPosition,
  Snapshot,
  Source,
  SupervisorEnd,
} from '../src/client/types.js';
import { isAnotherSupervisor, unexpectedEnd, type Connection, type DomainState } from '../src/store/domain-store.js';
import type { PaneId, ScreenState } from '../src/store/screen-store.js';
import { orderModels } from './lists/order.js';
import { stateOf } from './text/model-state.js';
import { matcher } from './lists/filter.js';
import { modelMarks, type ModelMark } from './theme/model-marks.js';
import type { Glyphs } from './theme/glyphs.js';

/** What stays the same for the whole run of a screen. */
export interface ScreenOptions {
  readonly glyphs: Glyphs;
  /** False where none are wanted, or the terminal has none. */
  readonly hasColours: boolean;
  readonly readOnly: boolean;
  /** What is being looked at. */
  readonly source: Source;
  /** This screen started the supervisor, so leaving has to say what becomes of it. */
  readonly ownsSupervisor: boolean;
  /** How the supervisor is called in the title; null: by its URL. */
  readonly hostLabel: string | null;
  /** What this program is called on the command line: `llm-tui`, or `npm start --` in a checkout. */
  readonly program: string;
  /** How the supervisors before this one ended, which the same command has started, oldest first; one sentence each. */
  readonly earlierEnds: readonly string[];
}

/** Everything a frame is drawn from. Two equal views give equal frames. */
export interface ScreenView {
  readonly options: ScreenOptions;
  readonly screen: ScreenState;
  readonly connection: Connection;
  /** How the supervisor that this screen has started ended, without having been told to; null: it runs. */
  readonly ended: SupervisorEnd | null;
  readonly snapshot: Snapshot;
  /** The supervisor's clock; it stands still while nobody answers. */
  readonly now: Millis;
  /** How long nothing has come from a supervisor that is thought to be there. */
  readonly silentMillis: Millis;
  readonly lists: Lists;
  readonly marks: ReadonlyMap<ModelId, ModelMark>;
  /** Where in a recording one is; null: this happens now. */
  readonly position: RecordedPosition | null;
  /** The model that a typed command is about; null: the one that is selected. */
  readonly named: ModelId | null;
}

/** True where what is looked at can do this, and this screen may ask for it. */
export function offers({ options }: Pick<ScreenView, 'options'>, needs: Ability | null, acts: boolean): boolean {
  return !(acts && options.readOnly) && (needs === null || options.source.can.has(needs));
}

/** The rows of the panes: filtered, sorted, in the order in which they are drawn. */
export interface Lists {
  readonly devices: readonly DeviceView[];
  readonly models: readonly ModelView[];
  readonly queue: readonly QueueView[];
  readonly measure: readonly ModelId[];
  /** Newest first. */
  readonly decisions: readonly Decision[];
}

/** What there is to draw at a moment of our own clock; null before the first snapshot. */
export function makeView(
  options: ScreenOptions,
  screen: ScreenState,
  known: DomainState,
  localNow: Millis,
): ScreenView | null {
  if (known.snapshot === null) return null;
  // What is recorded happened then, however long one looks at it.
  const now = known.position?.at ?? (lostSince(known) ?? localNow) + known.clockOffsetMillis;
  const { snapshot, now: shownNow } = screen.frozen ?? { snapshot: known.snapshot, now };
  return {
    // Another supervisor than the one that this screen has started is not this screen's to stop.
    options: isAnotherSupervisor(known) ? { ...options, ownsSupervisor: false } : options,
    screen,
    connection: known.connection,
    ended: unexpectedEnd(known),
    snapshot,
    now: shownNow,
    silentMillis: known.heardAt === null || known.position !== null ? 0 : localNow - known.heardAt,
    lists: makeLists(snapshot, screen),
    marks: modelMarks(snapshot.models),
    position: known.position,
    named: null,
  };
}

/** Nobody knows how long a model is idle, or somebody waits, once nobody answers: ages stand still from then on. */
function lostSince({ connection }: DomainState): Millis | null {
  return connection.state === 'lost' ? connection.since : null;
}

export function makeLists(snapshot: Snapshot, screen: Pick<ScreenState, 'filter' | 'sort'>): Lists {
  const matches = matcher(screen.filter);
  return {
    devices: snapshot.devices,
    models: orderModels(
      {
        models: snapshot.models.filter((model) =>
          matches(`${model.id} ${model.aliases.join(' ')} ${stateOf(model, snapshot).word}`),
        ),
        queue: snapshot.queue,
      },
      screen.sort,
    ),
    queue: snapshot.queue.filter((entry) => matches(`${entry.model} ${entry.why}`)),
    measure: snapshot.measureQueue.filter((model) => matches(model)),
    decisions: snapshot.decisions
      .filter((decision) => matches(`#${decision.number} ${decision.kind} ${decision.model} ${decision.sentence}`))
      .toReversed(),
  };
}

/** The ids of a pane's rows, which selection goes by. */
export function listIds(lists: Lists, pane: PaneId): readonly string[] {
  switch (pane) {
    case 'devices':
      return lists.devices.map((device) => device.name);
    case 'models':
      return lists.models.map((model) => model.id);
    case 'queue':
      return lists.queue.map((entry) => entry.model);
    case 'measure':
      return lists.measure;
    case 'decisions':
      return lists.decisions.map((decision) => String(decision.number));
  }
}

/**
 * The index of a pane's selected row: the first where nothing was chosen, -1 where what was chosen is gone (it
 * must not silently become another one) or the pane is empty.
 */
export function selectedIndex(lists: Lists, screen: Pick<ScreenState, 'selected'>, pane: PaneId): number {
  const ids = listIds(lists, pane);
  const chosen = screen.selected[pane];
  if (chosen === null) return ids.length === 0 ? -1 : 0;
  return ids.indexOf(chosen);
}

/** The id of a pane's selected row, or null. */
export function selectedId(lists: Lists, screen: Pick<ScreenState, 'selected'>, pane: PaneId): string | null {
  return listIds(lists, pane)[selectedIndex(lists, screen, pane)] ?? null;
}
