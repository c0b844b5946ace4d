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

/** The text in exactly `width` cells. */
export function padText(text: string, width: number, align: 'left' | 'right', mark: string): string {
  const cut = cutText(text, width, mark);
  const blanks = ' '.repeat(Math.max(0, width - textWidth(cut)));
  return align === 'left' ? cut + blanks : blanks + cut;
}

/** Breaks a clean text at blanks into lines of at most `width` cells; a longer word is cut hard. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (let word of text.split(' ')) {
    const joined = line === '' ? word : `${line} ${word}`;
    if (textWidth(joined) <= width) {
      line = joined;
      continue;
    }
    if (line !== '') lines.push(line);
    while (textWidth(word) > width) {
      const head = takeWidth(word, width);
      if (head === '') break;
      lines.push(head);
      word = word.slice(head.length);
    }
    line = word;
  }
  lines.push(line);
  return lines;
}
