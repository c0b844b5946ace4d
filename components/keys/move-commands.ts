import { focusNextPane, focusPane, select, type PaneId } from '../../src/store/screen-store.js';
import { listIds, selectedIndex, type ScreenView } from '../view.js';
import type { Command, CommandContext } from './command.js';

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
  if (page !== null) {
    // A log is scrolled from its end.
    const down = page.kind === 'logs' ? -by : by;
    const wanted = Number.isFinite(down) ? scroll + down : down > 0 ? Number.MAX_SAFE_INTEGER : 0;
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
    available: () => true,
    run: (context, view) => moveBy(context, view, by(context)),
  };
}

/** How to get around. */
export const MOVE_COMMANDS: readonly Command[] = [
  move('down', ['j', 'down'], 'one row down', () => 1),
  move('up', ['k', 'up'], 'one row up', () => -1),
  move('page-down', ['pagedown'], 'one page down', (context) => context.pageSize()),
  move('page-up', ['pageup'], 'one page up', (context) => -context.pageSize()),
  move('first', ['g', 'home'], 'to the first row', () => -Infinity),
  move('last', ['G', 'end'], 'to the last row', () => Infinity),
  {
    name: 'next-pane',
    keys: ['tab'],
    group: 'move',
    help: 'to the next pane',
    hint: 'pane',
    acts: false,
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
    available: () => true,
    run: (context, _view, key) => {
      const pane = PANE_OF_DIGIT[key ?? ''];
      if (pane !== undefined) focusPane(context.screen, pane);
    },
  },
];
