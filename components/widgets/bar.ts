import { visibleSharesOf } from '../text/shares.js';
import type { Glyphs } from '../theme/glyphs.js';
import type { Tone } from '../theme/tones.js';
import { span, type Row, type Span } from './row.js';

/** One stretch of a bar, from left to right. */
export interface BarPart {
  readonly bytes: number;
  readonly glyph: string;
  readonly tone: Tone;
}

/**
 * A bar of `cells` cells between brackets. Every part that is not zero is to be seen; the mark stands at
 * `total - margin` and is drawn over what lies there only when that is free memory.
 */
export function bar(parts: readonly BarPart[], total: number, margin: number, cells: number, glyphs: Glyphs): Row {
  const shares = visibleSharesOf(
    parts.map((part) => part.bytes),
    cells,
  );
  const drawn: { glyph: string; tone: Tone }[] = [];
  for (const [index, part] of parts.entries()) {
    for (let count = shares[index] ?? 0; count > 0; count -= 1) drawn.push({ glyph: part.glyph, tone: part.tone });
  }
  while (drawn.length < cells) drawn.push({ glyph: glyphs.free, tone: 'dim' });
  if (margin > 0 && total > 0) {
    const at = Math.max(0, Math.min(cells - 1, Math.round(((total - margin) / total) * cells) - 1));
    if (drawn[at]?.glyph === glyphs.free) drawn[at] = { glyph: glyphs.margin, tone: 'plain' };
  }
  return [span('['), ...joinSameTone(drawn), span(']')];
}

function joinSameTone(cells: readonly { glyph: string; tone: Tone }[]): Span[] {
  const spans: { text: string; tone: Tone }[] = [];
  for (const { glyph, tone } of cells) {
    const last = spans.at(-1);
    if (last?.tone === tone) last.text += glyph;
    else spans.push({ text: glyph, tone });
  }
  return spans;
}
