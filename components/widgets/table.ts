import { EMPTY_ROW, cell, span, type Align, type Row } from './row.js';
import type { Tone } from '../theme/tones.js';

/** A column of a table that is drawn by hand. */
export interface Column {
  readonly key: string;
  readonly title: string;
  readonly width: number;
  readonly align: Align;
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
    const drawn = cell(text, column.width, mark, tone, column.align);
    return index === 0 ? [drawn] : [span(' '), drawn];
  });
}

/** The cells that the columns take together. */
export function tableWidth(columns: readonly Column[]): number {
  return columns.reduce((sum, column) => sum + column.width + 1, -1);
}
