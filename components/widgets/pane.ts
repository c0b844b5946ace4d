import type { Glyphs } from '../theme/glyphs.js';
import { listWindow } from './list-window.js';
import { rule } from './rule.js';
import { cutRow, span, type Row } from './row.js';

/** A list pane before it is cut to its place. */
export interface PaneList {
  readonly title: string;
  /** Column titles, or null. */
  readonly header: Row | null;
  readonly rows: readonly Row[];
  /** What stands there when there are no rows; it says what to do next. */
  readonly empty: readonly string[];
  readonly selected: number;
  /** What stands below the rows where there is room for all of it. */
  readonly after?: readonly Row[];
}

/** Where the pane goes. */
export interface PanePlace {
  readonly width: number;
  /** With the title row. */
  readonly height: number;
  readonly focused: boolean;
  readonly offset: number;
}

export interface DrawnPane {
  readonly rows: readonly Row[];
  readonly offset: number;
}

/** Draws a list into its place: exactly `height` rows (fewer only when there is less to say), each at most `width` cells. */
export function drawPane(list: PaneList, place: PanePlace, glyphs: Glyphs): DrawnPane {
  if (place.height <= 0) return { rows: [], offset: place.offset };
  const header = list.rows.length > 0 && place.height >= 3 ? list.header : null;
  const body = place.height - 1 - (header === null ? 0 : 1);
  const window = listWindow(list.rows.length, body, place.focused ? list.selected : -1, place.offset);
  const hidden = [
    ...(window.above > 0 ? [`${window.above}${glyphs.above}`] : []),
    ...(window.below > 0 ? [`${window.below}${glyphs.below}`] : []),
  ].join(' ');
  const title = hidden === '' ? list.title : `${list.title} ${hidden}`;
  const rows: Row[] = [rule(title, place.width, glyphs, place.focused)];
  if (header !== null) rows.push(cutRow([span('  '), ...header], place.width, glyphs.cut));
  if (list.rows.length === 0) {
    for (const line of list.empty.slice(0, body))
      rows.push(cutRow([span('  '), span(line, 'dim')], place.width, glyphs.cut));
  }
  for (let index = window.offset; index < Math.min(list.rows.length, window.offset + window.height); index += 1) {
    const selected = place.focused && index === list.selected;
    const marker = selected ? span(`${glyphs.selected} `, 'accent') : span('  ');
    rows.push(cutRow([marker, ...(list.rows[index] ?? [])], place.width, glyphs.cut));
  }
  const after = list.after ?? [];
  if (window.above + window.below === 0 && list.rows.length + after.length <= body) {
    for (const row of after) rows.push(cutRow([span('  '), ...row], place.width, glyphs.cut));
  }
  return { rows, offset: window.offset };
}
