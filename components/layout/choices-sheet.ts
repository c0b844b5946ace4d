import { textWidth } from '../text/width.js';
import type { Glyphs } from '../theme/glyphs.js';
import { listWindow } from '../widgets/list-window.js';
import { cell, span, type Row } from '../widgets/row.js';
import { rule } from '../widgets/rule.js';
import type { Choices } from './footer.js';

/** Cells for the mark before a choice and the gap behind it. */
const AROUND = 3;

function cellWidth(labels: readonly string[], width: number): number {
  return Math.min(width, Math.max(1, ...labels.map(textWidth)) + AROUND);
}

/** How many choices stand side by side in so many cells. */
export function gridColumns(labels: readonly string[], width: number): number {
  return Math.max(1, Math.floor(width / cellWidth(labels, width)));
}

/** What a line that is typed may go on with, as a sheet for the bottom of the screen of at most `height` rows. */
export function choicesRows({ labels, at, about }: Choices, width: number, height: number, glyphs: Glyphs): Row[] {
  const columns = gridColumns(labels, width);
  const room = cellWidth(labels, width) - AROUND;
  const lines = Math.ceil(labels.length / columns);
  const window = listWindow(lines, Math.min(lines, height - 1), at === null ? -1 : Math.floor(at / columns), 0);
  const choice = (label: string, index: number): Row => [
    index === at ? span(`${glyphs.selected} `, 'accent') : span('  '),
    cell(label, room, glyphs.cut, index === at ? 'strong' : 'plain', 'left', 'middle'),
    span(' '),
  ];
  const more = window.below + window.above > 0 ? `  ${window.above}${glyphs.above} ${window.below}${glyphs.below}` : '';
  return [
    rule(`${about ?? 'Tab and arrows choose'}${more}`, width, glyphs, true),
    ...Array.from({ length: window.height }, (_, line) =>
      labels
        .map((label, index) => [label, index] as const)
        .slice((window.offset + line) * columns, (window.offset + line + 1) * columns)
        .flatMap(([label, index]) => choice(label, index)),
    ),
  ];
}
