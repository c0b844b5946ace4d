import stringWidth from 'string-width';
import { isPlainAscii } from './clean.js';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** How many terminal cells the text takes; the text must be clean. */
export function textWidth(text: string): number {
  return isPlainAscii(text) ? text.length : stringWidth(text);
}

/** The longest start of the text that fits into `width` cells, without a mark for what was left out. */
export function takeWidth(text: string, width: number): string {
  if (width <= 0) return '';
  if (isPlainAscii(text)) return text.slice(0, width);
  let taken = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const cells = stringWidth(segment);
    if (used + cells > width) break;
    taken += segment;
    used += cells;
  }
  return taken;
}

/** The text without what a reader takes for its last character. */
export function withoutLastCharacter(text: string): string {
  return Array.from(graphemes.segment(text), ({ segment }) => segment)
    .slice(0, -1)
    .join('');
}

/** The text in at most `width` cells; a text that was cut ends in `mark`. */
export function cutText(text: string, width: number, mark: string): string {
  if (textWidth(text) <= width) return text;
  const room = width - textWidth(mark);
  return room <= 0 ? takeWidth(text, width) : takeWidth(text, room) + mark;
}

/** How much of a name's end is kept when its middle is cut out: variants of a model differ there. */
const END_KEPT = 10;

/** The text in at most `width` cells; what is too long loses its middle, so that `…-q4_k_m` and `…-q8_0` stay apart. */
export function cutMiddle(text: string, width: number, mark: string): string {
  if (textWidth(text) <= width) return text;
  const room = width - textWidth(mark);
  const end = takeEnd(text, Math.min(END_KEPT, Math.floor((room * 2) / 3)));
  if (end === '') return cutText(text, width, mark);
  return takeWidth(text, room - textWidth(end)) + mark + end;
}

/** The longest end of the text that fits into `width` cells. */
function takeEnd(text: string, width: number): string {
  let taken = '';
  for (const { segment } of Array.from(graphemes.segment(text)).toReversed()) {
    if (textWidth(segment + taken) > width) break;
    taken = segment + taken;
  }
  return taken;
}

/** Where a text gives way when it is too long. */
export type CutAt = 'end' | 'middle';

/** The text in exactly `width` cells. */
export function padText(
  text: string,
  width: number,
  align: 'left' | 'right',
  mark: string,
  cutAt: CutAt = 'end',
): string {
  const cut = cutAt === 'middle' ? cutMiddle(text, width, mark) : cutText(text, width, mark);
  const blanks = ' '.repeat(Math.max(0, width - textWidth(cut)));
  return align === 'left' ? cut + blanks : blanks + cut;
}

/**
 * Breaks a clean text at blanks into lines of at most `width` cells; a longer word is cut hard. Blanks at its start
 * stay: they set it apart from what stands before it.
 */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line: string | null = null;
  for (let word of text.split(' ')) {
    const joined: string = line === null ? word : `${line} ${word}`;
    if (textWidth(joined) <= width) {
      line = joined;
      continue;
    }
    if (line !== null) lines.push(line);
    while (textWidth(word) > width) {
      const head = takeWidth(word, width);
      if (head === '') break;
      lines.push(head);
      word = word.slice(head.length);
    }
    line = word;
  }
  lines.push(line ?? '');
  return lines;
}
