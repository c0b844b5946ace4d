import type { CutAt } from '../text/width.js';
import { EMPTY_ROW, cell, span, type Align, type Row } from './row.js';
import type { Tone } from '../theme/tones.js';

/** A column of a table that is drawn by hand. */
export interface Column {
  readonly key: string;
  readonly title: string;
  readonly width: number;
  readonly align: Align;
  /** Names are cut in the middle: they differ at their ends. */
  readonly cutAt?: CutAt;
}

/** What stands in one cell. */
export interface CellText {
  readonly text: string;
  readonly tone?: Tone;
}

/** The column titles in their columns. */
export function headerRow(columns: readonly Column[], mark: string): Row {
  return tableRow(
    columns,
    Object.fromEntries(columns.map((column) => [column.key, { text: column.title, tone: 'dim' as const }])),
    mark,
  );
}

/** One row: each cell cut and filled to its column, one blank between columns. */
export function tableRow(columns: readonly Column[], cells: Readonly<Record<string, CellText>>, mark: string): Row {
  if (columns.length === 0) return EMPTY_ROW;
  return columns.flatMap((column, index) => {
    const { text, tone = 'plain' } = cells[column.key] ?? { text: '' };
    const drawn = cell(text, column.width, mark, tone, column.align, column.cutAt);
    return index === 0 ? [drawn] : [span(' '), drawn];
  });
}

/** The columns without those that there is no room for; what comes first in `leastFirst` goes first. */
export function fitColumns(columns: readonly Column[], width: number, leastFirst: readonly string[]): Column[] {
  return leastFirst.reduce<Column[]>(
    (kept, key) => (tableWidth(kept) <= width ? kept : kept.filter((column) => column.key !== key)),
    [...columns],
  );
}

/** The cells that the columns take together. */
export function tableWidth(columns: readonly Column[]): number {
  return columns.reduce((sum, column) => sum + column.width + 1, -1);
}
