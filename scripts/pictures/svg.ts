import type { TerminalCell } from '../../test/support/terminal.js';

const CELL_WIDTH = 8.4;
const ROW_HEIGHT = 17;
const MARGIN = 12;
const BACKGROUND = '#16181d';
const FOREGROUND = '#d4d7dd';

/** The sixteen colours of a dark terminal. */
const PALETTE: readonly string[] = [
  ...['#3b4048', '#e06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#abb2bf'],
  ...['#5c6370', '#ff7b86', '#b5e890', '#ffd68a', '#82c7ff', '#dd95f5', '#74d8e5', '#ffffff'],
];

/** A screen as a picture. Every stretch of one look is a text of exactly its cells' width, whatever font there is. */
export function svgOf(cells: readonly (readonly TerminalCell[])[]): string {
  const columns = Math.max(0, ...cells.map((row) => row.length));
  const width = Math.ceil(columns * CELL_WIDTH + 2 * MARGIN);
  const height = cells.length * ROW_HEIGHT + 2 * MARGIN;
  const rows = cells.flatMap((row, index) => stretchesOf(row).map((stretch) => textOf(stretch, index)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The screen of llm-tui">`,
    `<rect width="${width}" height="${height}" rx="8" fill="${BACKGROUND}"/>`,
    `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" fill="${FOREGROUND}">`,
    ...rows,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** Neighbours that look the same. */
interface Stretch {
  readonly column: number;
  readonly cells: number;
  readonly text: string;
  readonly look: TerminalCell;
}

function stretchesOf(row: readonly TerminalCell[]): readonly Stretch[] {
  const stretches: Stretch[] = [];
  for (const [column, cell] of row.entries()) {
    const last = stretches.at(-1);
    if (last !== undefined && looksLike(last.look, cell)) {
      stretches[stretches.length - 1] = { ...last, cells: last.cells + 1, text: last.text + cell.text };
    } else stretches.push({ column, cells: 1, text: cell.text, look: cell });
  }
  return stretches.flatMap(withoutBlanks);
}

function looksLike(a: TerminalCell, b: TerminalCell): boolean {
  return a.colour === b.colour && a.bold === b.bold && a.dim === b.dim;
}

/** The words of a stretch, each in its place: who collapses blanks, or has another font, still shows the columns. */
function withoutBlanks(stretch: Stretch): Stretch[] {
  return [...stretch.text.matchAll(/\S+(?: \S+)*/gu)].map(({ 0: text, index }) => {
    return { ...stretch, column: stretch.column + index, cells: text.length, text };
  });
}

function textOf({ column, cells, text, look }: Stretch, row: number): string {
  const x = (MARGIN + column * CELL_WIDTH).toFixed(1);
  const y = (MARGIN + row * ROW_HEIGHT + ROW_HEIGHT * 0.75).toFixed(1);
  const looks = [
    ...(look.colour === null ? [] : [`fill="${PALETTE[look.colour] ?? FOREGROUND}"`]),
    ...(look.bold ? ['font-weight="bold"'] : []),
    ...(look.dim ? ['opacity="0.6"'] : []),
  ];
  const length = `textLength="${(cells * CELL_WIDTH).toFixed(1)}" lengthAdjust="spacingAndGlyphs"`;
  return `<text x="${x}" y="${y}" ${[length, ...looks].join(' ')}>${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
