import { visibleText } from '../text/clean.js';
import { padText, takeWidth, textWidth, wrapText, type CutAt } from '../text/width.js';
import type { Theme, Tone } from '../theme/tones.js';

/** A piece of a row in one tone. Made by `span` only, which makes the text safe. */
export interface Span {
  readonly text: string;
  readonly tone: Tone;
}

/** One line of the screen as data. */
export type Row = readonly Span[];

export const EMPTY_ROW: Row = [];

/** The only way to text on the screen: whatever a model, a file or a child calls itself, it cannot steer the terminal. */
export function span(text: string, tone: Tone = 'plain'): Span {
  return { text: visibleText(text), tone };
}

/** A span of exactly `width` cells. */
export function cell(
  text: string,
  width: number,
  mark: string,
  tone: Tone = 'plain',
  align: Align = 'left',
  cutAt: CutAt = 'end',
): Span {
  return { text: padText(visibleText(text), width, align, mark, cutAt), tone };
}

export type Align = 'left' | 'right';

export function rowWidth(row: Row): number {
  return row.reduce((sum, part) => sum + textWidth(part.text), 0);
}

/** The row in at most `width` cells; one that was cut ends in `mark`. Blanks at its end do not count. */
export function cutRow(row: Row, width: number, mark: string): Row {
  if (rowWidth(row) <= width) return row;
  const trimmed = trimEnd(row);
  if (rowWidth(trimmed) <= width) return trimmed;
  const ending = textWidth(mark) < width ? mark : '';
  const kept: Span[] = [];
  let left = width - textWidth(ending);
  for (const part of trimmed) {
    const cells = textWidth(part.text);
    if (cells > left) return [...kept, { text: takeWidth(part.text, left) + ending, tone: part.tone }];
    kept.push(part);
    left -= cells;
  }
  return kept;
}

/**
 * The row on as many rows as it takes, so that nothing of it is lost. It goes on under its last span where that has
 * at least half of the width, else a little indented.
 */
export function wrapRow(row: Row, width: number): Row[] {
  const last = row.at(-1);
  if (last === undefined || rowWidth(row) <= width) return [row];
  const head = row.slice(0, -1);
  const blanks = / */.exec(last.text)?.[0] ?? '';
  const hang = rowWidth(head) + blanks.length;
  if (hang > width / 2) return flowRow(row, width);
  const lines = wrapText(last.text.slice(blanks.length), width - hang);
  return lines.map((text, index): Row =>
    index === 0
      ? [...head, { text: blanks + text, tone: last.tone }]
      : [span(' '.repeat(hang)), { text, tone: last.tone }],
  );
}

/** Word by word, each in the tone of its span. */
function flowRow(row: Row, width: number): Row[] {
  const text = row.map((part) => part.text).join('');
  const indent = Math.min((/^ */.exec(text)?.[0].length ?? 0) + 2, Math.floor(width / 2));
  const rows: Span[][] = [[]];
  let used = 0;
  const put = (piece: string, tone: Tone): void => {
    rows.at(-1)?.push({ text: piece, tone });
    used += textWidth(piece);
  };
  const goOn = (): void => {
    rows.push([span(' '.repeat(indent))]);
    used = indent;
  };
  for (const { text, tone } of row) {
    for (const piece of text.match(/ +|[^ ]+/g) ?? []) {
      const blank = piece.startsWith(' ');
      if (blank && (used + piece.length > width || (rows.length > 1 && used === indent))) continue;
      if (used > indent && used + textWidth(piece) > width) goOn();
      let rest = piece;
      while (used + textWidth(rest) > width) {
        const head = takeWidth(rest, width - used);
        if (head === '') break;
        put(head, tone);
        rest = rest.slice(head.length);
        goOn();
      }
      put(rest, tone);
    }
  }
  return rows;
}

/** The row in exactly `width` cells. */
export function padRow(row: Row, width: number, mark: string): Row {
  const cut = cutRow(row, width, mark);
  const missing = width - rowWidth(cut);
  return missing <= 0 ? cut : [...cut, { text: ' '.repeat(missing), tone: 'plain' }];
}

/** `left` at the left end, `right` at the right end; the left gives way. */
export function spreadRow(left: Row, right: Row, width: number, mark: string): Row {
  const room = width - rowWidth(right) - 1;
  if (room <= 0) return cutRow(left, width, mark);
  return [...padRow(left, room, mark), span(' '), ...right];
}

/** Two panes side by side; the shorter one is filled up with blanks. */
export function besides(
  left: readonly Row[],
  leftWidth: number,
  gap: number,
  right: readonly Row[],
  mark: string,
): Row[] {
  const height = Math.max(left.length, right.length);
  return Array.from({ length: height }, (_, index) => [
    ...padRow(left[index] ?? EMPTY_ROW, leftWidth + gap, mark),
    ...(right[index] ?? EMPTY_ROW),
  ]);
}

/** The row as the terminal gets it. Blanks at the end are left out: they would only be bytes. */
export function paintRow(row: Row, theme: Theme): string {
  let painted = '';
  for (const part of trimEnd(row)) {
    const ink = theme[part.tone];
    painted += ink.on + part.text + ink.off;
  }
  // An empty string has no height.
  return painted === '' ? ' ' : painted;
}

function trimEnd(row: Row): Row {
  for (let index = row.length - 1; index >= 0; index -= 1) {
    const part = row[index];
    if (part === undefined) continue;
    const text = part.text.trimEnd();
    if (text !== '') return [...row.slice(0, index), { text, tone: part.tone }];
  }
  return [];
}
