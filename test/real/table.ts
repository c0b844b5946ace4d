import type { Row } from './part.js';

const HEADINGS = ['part', 'requests', 'failed', 'out of memory', 'evictions', 'worst disagreement'] as const;

/** The table at the end; `-` where there is nothing to count. */
export function tableOf(rows: readonly Row[]): string {
  const cells = [HEADINGS, ...rows.map(cellsOf)];
  const widths = HEADINGS.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => pad(cell, widths[column] ?? 0, column === 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function cellsOf({ name, requests, failed, outOfMemory, evictions, worstDisagreement }: Row): readonly string[] {
  const counts = [requests, failed, outOfMemory, evictions].map((count) => (count === null ? '-' : String(count)));
  return [name, ...counts, worstDisagreement === null ? '-' : `${(worstDisagreement * 100).toFixed(2)} %`];
}

function pad(cell: string, width: number, left: boolean): string {
  return left ? cell.padEnd(width) : cell.padStart(width);
}
