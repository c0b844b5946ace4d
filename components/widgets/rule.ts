import type { Glyphs } from '../theme/glyphs.js';
import { textWidth } from '../text/width.js';
import { cutRow, span, type Row } from './row.js';

/** A pane's title and the line it stands on: the screen has no boxes. */
export function rule(title: string, width: number, glyphs: Glyphs, focused: boolean): Row {
  const line = focused ? glyphs.focusedRule : glyphs.rule;
  const tone = focused ? 'accent' : 'dim';
  const head = span(title, focused ? 'accent' : 'strong');
  const after = Math.max(0, width - textWidth(head.text) - 4);
  return cutRow([span(`${line.repeat(2)} `, tone), head, span(` ${line.repeat(after)}`, tone)], width, glyphs.cut);
}
