import { focusNextPane, focusPane, PANES, select, type PaneId } from '../../src/store/screen-store.js';
import { listIds, selectedIndex, type ScreenView } from '../view.js';
import { moveRequest } from './request-commands.js';
import type { Command, CommandContext } from './command.js';
import { moveLog } from './log-commands.js';

/** The pane that a digit goes to. */
const PANE_OF_DIGIT: Readonly<Record<string, PaneId>> = {
  '1': 'devices',
  '2': 'models',
  '3': 'queue',
  '4': 'measure',
  '5': 'decisions',
};

/** Moves the selection, or the page that is open, by so many rows; `Infinity` goes to an end. */
function moveBy(context: CommandContext, view: ScreenView, by: number): void {
  const { page, scroll, focus } = context.screen.getState();
  if (page?.kind === 'logs') return moveLog(context, view, by);
  if (page?.kind === 'requests') return moveRequest(context, view, by);
  if (page !== null) {
    const wanted = Number.isFinite(by) ? scroll + by : by > 0 ? Number.MAX_SAFE_INTEGER : 0;
    context.screen.setState({ scroll: Math.max(0, wanted) });
    return;
  }
  const ids = listIds(view.lists, focus);
  if (ids.length === 0) return;
  const wanted = Math.max(0, Math.min(ids.length - 1, selectedIndex(view.lists, view.screen, focus) + by));
  select(context.screen, focus, ids[wanted] ?? null);
}

function move(name: string, keys: readonly string[], help: string, by: (context: CommandContext) => number): Command {
  return {
    name,
    keys,
    group: 'move',
    help,
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: () => true,
    run: (context, view, { key }) => {
      const rows = by(context);
      const { recording } = context.client;
      // In a recording these go to its ends; Home and End still move in the list.
      if (recording !== null && view.screen.page === null && (key === 'g' || key === 'G')) recording.step(rows);
      else moveBy(context, view, rows);
    },
  };
}

/** How to get around. */
export const MOVE_COMMANDS: readonly Command[] = [
  move('down', ['j', 'down'], 'one row down', () => 1),
  move('up', ['k', 'up'], 'one row up', () => -1),
  move('page-down', ['pagedown'], 'one page down', (context) => context.pageSize()),
  move('page-up', ['pageup'], 'one page up', (context) => -context.pageSize()),
  move('first', ['g', 'home'], 'to the first row; in a recording g goes to its beginning', () => -Infinity),
  move('last', ['G', 'end'], 'to the last row; in a recording G goes to its end', () => Infinity),
  {
    name: 'next-pane',
    keys: ['tab'],
    group: 'move',
    help: 'to the next pane',
    hint: 'pane',
    acts: false,
    needs: null,
    takes: null,
    available: () => true,
    run: (context) => focusNextPane(context.screen, 1),
  },
  {
    name: 'previous-pane',
    keys: ['shift+tab'],
    group: 'move',
    help: 'to the pane before',
    hint: null,
    acts: false,
    needs: null,
    takes: null,
    available: () => true,
    run: (context) => focusNextPane(context.screen, -1),
  },
  {
    name: 'pane',
    keys: Object.keys(PANE_OF_DIGIT),
    group: 'move',
    help: 'to the devices, models, queue, measure queue or decisions',
    hint: null,
    acts: false,
    needs: null,
    takes: PANES,
    available: () => true,
    run: (context, _view, { key, argument }) => {
      const pane = PANES.find((name) => name === argument) ?? PANE_OF_DIGIT[key ?? ''];
      if (pane !== undefined) focusPane(context.screen, pane);
    },
  },
];
