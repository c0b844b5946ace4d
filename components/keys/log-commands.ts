import { say, shownLog, type LogTail } from '../../src/store/screen-store.js';
import { matchingLines, nextMatch } from '../panes/log-search.js';
import { logRoom } from '../panes/log-page.js';
import { isBefore, lastTop, logWindow, movedBy, type LogWindow } from '../panes/log-window.js';
import type { ScreenView } from '../view.js';
import type { Command, CommandContext } from './command.js';

/** The log that is open, as far as it has been read; null: none. */
export function openLog(view: ScreenView): LogTail | null {
  const { page } = view.screen;
  const tail = shownLog(view.screen);
  return page?.kind === 'logs' && tail?.model === page.model ? tail : null;
}

const isOpen = (view: ScreenView): boolean => view.screen.page?.kind === 'logs';

/** What of the open log is on the screen. */
export function shownRows(context: CommandContext, view: ScreenView, tail: LogTail): LogWindow {
  return logWindow(tail, context.screen.getState().logView, logRoom(view, context.bodyRows()));
}

/** Moves a log by so many rows; at its end it follows again. */
export function moveLog(context: CommandContext, view: ScreenView, by: number): void {
  const tail = openLog(view);
  if (tail === null) return;
  const room = logRoom(view, context.bodyRows());
  const { logView } = context.screen.getState();
  const { top: from } = logWindow(tail, logView, room);
  const top = movedBy(tail, from, by, logView.wrap, room);
  const follows = by > 0 && !isBefore(top, lastTop(tail, logView.wrap, room));
  context.screen.setState({ logView: { ...logView, top: follows ? null : top } });
}

/** Looks for a text: from what is on the screen on, or upwards from the end where that is followed. */
export function searchLog(context: CommandContext, view: ScreenView, search: string): void {
  const { logView } = context.screen.getState();
  context.screen.setState({ logView: { ...logView, search, found: null } });
  if (search === '') return;
  const tail = openLog(view);
  if (tail === null) return;
  const { top } = shownRows(context, view, tail);
  if (logView.top === null) goToMatch(context, view, tail.dropped + tail.lines.length, -1);
  else goToMatch(context, view, top.line - 1, 1);
}

function goToMatch(context: CommandContext, view: ScreenView, from: number, direction: 1 | -1): void {
  const tail = openLog(view);
  if (tail === null) return;
  const { logView } = context.screen.getState();
  const next = nextMatch(matchingLines(tail, logView.search), from, direction);
  if (next === null) return say(context.screen, 'bad', `nothing in this log matches "${logView.search}"`);
  if (next.wentAround) say(context.screen, 'plain', `searched on from the ${direction === 1 ? 'beginning' : 'end'}`);
  const room = logRoom(view, context.bodyRows());
  const { rows } = logWindow(tail, logView, room);
  const isSeen = rows.some(({ line }) => line === next.line);
  // It is put in the middle, so that what led to it is seen as well.
  const top = isSeen
    ? logWindow(tail, logView, room).top
    : movedBy(tail, { line: next.line, row: 0 }, -Math.floor(room.height / 2), logView.wrap, room);
  context.screen.setState({ logView: { ...logView, found: next.line, top } });
}

function searchOn(context: CommandContext, view: ScreenView, direction: 1 | -1): void {
  const { logView } = context.screen.getState();
  const tail = openLog(view);
  if (tail === null) return;
  if (logView.search === '') return say(context.screen, 'plain', 'nothing is looked for yet: / asks what');
  const { rows } = shownRows(context, view, tail);
  const seen = direction === 1 ? rows[0]?.line : rows.at(-1)?.line;
  goToMatch(context, view, logView.found ?? (seen ?? 0) - direction, direction);
}

/** What can be done with a log that is open. */
export const LOG_COMMANDS: readonly Command[] = [
  {
    name: 'follow',
    keys: ['f'],
    group: 'look',
    help: 'in a log: follow its end, or hold what is on the screen',
    hint: 'follow',
    acts: false,
    needs: 'logs',
    takes: null,
    available: isOpen,
    run: (context, view) => {
      const tail = openLog(view);
      const { logView } = context.screen.getState();
      const top = tail === null || logView.top !== null ? null : shownRows(context, view, tail).top;
      context.screen.setState({ logView: { ...logView, top } });
    },
  },
  {
    name: 'wrap',
    keys: ['W'],
    group: 'look',
    help: 'in a log: long lines on several rows, or cut at the edge',
    hint: 'wrap',
    acts: false,
    needs: 'logs',
    takes: null,
    available: isOpen,
    run: (context) =>
      context.screen.setState(({ logView }) => ({
        // The same line stays on top.
        logView: { ...logView, wrap: !logView.wrap, top: logView.top && { line: logView.top.line, row: 0 } },
      })),
  },
  {
    name: 'next-match',
    keys: ['n'],
    group: 'look',
    help: 'in a log: the next line with what / looked for',
    hint: null,
    acts: false,
    needs: 'logs',
    takes: null,
    available: isOpen,
    run: (context, view) => searchOn(context, view, 1),
  },
  {
    name: 'previous-match',
    keys: ['N'],
    group: 'look',
    help: 'in a log: the one before',
    hint: null,
    acts: false,
    needs: 'logs',
    takes: null,
    available: isOpen,
    run: (context, view) => searchOn(context, view, -1),
  },
];
