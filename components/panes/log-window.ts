import type { LogPlace, LogTail, LogView } from '../../src/store/screen-store.js';
import { cleanText } from '../text/clean.js';
import { takeWidth, textWidth } from '../text/width.js';

/** How much of a log there is room for. */
export interface LogRoom {
  readonly width: number;
  readonly height: number;
  /** What a line that was cut ends in. */
  readonly mark: string;
}

/** A row of a log on the screen. */
export interface LogRow {
  readonly text: string;
  readonly line: number;
}

/** The rows that are on the screen, and the place of the first. */
export interface LogWindow {
  readonly rows: readonly LogRow[];
  readonly top: LogPlace;
  /** Nothing comes after them. */
  readonly atEnd: boolean;
}

/** Where the rows of a line that follows begin: what goes on is told apart from what begins. */
const GOES_ON = '  ';

/** The rows that a window shows. Only the lines in it are laid out, however long the log is. */
export function logWindow(tail: LogTail, view: Pick<LogView, 'top' | 'wrap'>, room: LogRoom): LogWindow {
  const end = lastTop(tail, view.wrap, room);
  const top = view.top === null || isBefore(end, view.top) ? end : clampToStart(tail, view.top);
  const rows: LogRow[] = [];
  const after = tail.dropped + tail.lines.length;
  let line = top.line;
  for (; line < after && rows.length < room.height; line += 1) {
    const texts = rowsOf(tail, line, view.wrap, room);
    rows.push(...texts.slice(line === top.line ? top.row : 0).map((text) => ({ text, line })));
  }
  const atEnd = line >= after && rows.length <= room.height;
  return { rows: rows.slice(0, room.height), top, atEnd };
}

/** The place so many rows further down (negative: up). */
export function movedBy(tail: LogTail, from: LogPlace, rows: number, wrap: boolean, room: LogRoom): LogPlace {
  if (rows === -Infinity) return { line: tail.dropped, row: 0 };
  if (rows === Infinity) return lastTop(tail, wrap, room);
  let { line, row } = clampToStart(tail, from);
  let left = Math.abs(rows);
  while (left > 0) {
    if (rows < 0) {
      if (row > 0) row -= 1;
      else if (line > tail.dropped) {
        line -= 1;
        row = rowsOf(tail, line, wrap, room).length - 1;
      } else break;
    } else if (row + 1 < rowsOf(tail, line, wrap, room).length) row += 1;
    else if (line + 1 < tail.dropped + tail.lines.length) {
      line += 1;
      row = 0;
    } else break;
    left -= 1;
  }
  return { line, row };
}

/** Where a window begins whose last row is the last there is. */
export function lastTop(tail: LogTail, wrap: boolean, room: LogRoom): LogPlace {
  let left = room.height;
  for (let line = tail.dropped + tail.lines.length - 1; line >= tail.dropped; line -= 1) {
    const { length } = rowsOf(tail, line, wrap, room);
    if (length >= left) return { line, row: length - left };
    left -= length;
  }
  return { line: tail.dropped, row: 0 };
}

export function isBefore(one: LogPlace, other: LogPlace): boolean {
  return one.line < other.line || (one.line === other.line && one.row < other.row);
}

/** The line with this number, safe to show; empty where it is no longer kept. */
export function lineAt(tail: LogTail, line: number): string {
  return cleanText(tail.lines[line - tail.dropped] ?? '');
}

/** Never measures more of a line than it shows: a line of thousands of cells must not cost as many. */
function rowsOf(tail: LogTail, line: number, wrap: boolean, { width, mark }: LogRoom): readonly string[] {
  const text = lineAt(tail, line);
  const whole = takeWidth(text, width);
  if (whole.length === text.length) return [text];
  if (!wrap) return [takeWidth(text, width - textWidth(mark)) + mark];
  const rows: string[] = [];
  let rest = text;
  while (rest !== '') {
    const indent = rows.length === 0 ? '' : GOES_ON;
    const head = takeWidth(rest, width - indent.length);
    // A character that is wider than the window has no place in it.
    if (head === '') break;
    const row = upToBlank(head, rest);
    rows.push(indent + row);
    rest = rest.slice(row.length).replace(/^ /u, '');
  }
  return rows;
}

/** As much of it as ends where a word does; all of it where it is one word, or the whole rest. */
function upToBlank(head: string, rest: string): string {
  if (head.length === rest.length || rest[head.length] === ' ') return head;
  const blank = head.lastIndexOf(' ');
  return blank > 0 ? head.slice(0, blank) : head;
}

/** What was looked at may be no longer kept. */
function clampToStart(tail: LogTail, place: LogPlace): LogPlace {
  return place.line < tail.dropped ? { line: tail.dropped, row: 0 } : place;
}
