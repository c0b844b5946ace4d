import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ASCII, chooseGlyphs } from '../../components/theme/glyphs.js';
import { DARK, PLAIN } from '../../components/theme/tones.js';
import { bar } from '../../components/widgets/bar.js';
import { fitColumns } from '../../components/widgets/table.js';
import { listWindow } from '../../components/widgets/list-window.js';
import {
  cutRow,
  padRow,
  paintRow,
  rowWidth,
  span,
  spreadRow,
  wrapRow,
  type Row,
} from '../../components/widgets/row.js';

const rows = fc.array(
  fc.string({ unit: 'grapheme' }).map((text) => span(text)),
  { maxLength: 6 },
);
const text = (row: Row): string => row.map((part) => part.text).join('');

describe('a row', () => {
  it('is cut and filled to the cell', () => {
    fc.assert(
      fc.property(rows, fc.integer({ min: 0, max: 60 }), (row, width) => {
        expect(rowWidth(cutRow(row, width, '..'))).toBeLessThanOrEqual(width);
        expect(rowWidth(padRow(row, width, '..'))).toBe(width);
      }),
    );
  });

  it('shows that something was cut, also where the cut is between two spans', () => {
    expect(text(cutRow([span('abcdef'), span('ghi')], 8, '..'))).toBe('abcdef..');
    expect(text(cutRow([span('abcdef'), span('ghi')], 6, '..'))).toBe('abcd..');
    expect(text(cutRow([span('abc'), span('def')], 6, '..'))).toBe('abcdef');
  });

  it('keeps its right end when the left has to give way', () => {
    expect(text(spreadRow([span('a long left end')], [span('right')], 14, '..'))).toBe('a long.. right');
  });

  it('is wrapped without losing anything of it, nor the blank between two spans', () => {
    const said = (lines: readonly Row[]): string => lines.map(text).join(' ').replace(/ +/g, '');
    const words = fc.array(
      fc
        .array(fc.constantFrom('a', 'bcd', 'efghij', '', 'klmnopqrstuvwxyz'), { maxLength: 6 })
        .map((all) => span(all.join(' '))),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(words, fc.integer({ min: 4, max: 50 }), (row, width) => {
        const lines = wrapRow(row, width);
        for (const line of lines) expect(rowWidth(line)).toBeLessThanOrEqual(width);
        expect(said(lines)).toBe(said([row]));
      }),
    );
    expect(wrapRow([span('REFUSED', 'bad'), span('  much too large')], 18).map(text)).toEqual([
      'REFUSED  much too',
      '         large',
    ]);
    expect(wrapRow([span('#3 '), span('evict'), span(' alpha'), span(' for '), span('beta')], 16).map(text)).toEqual([
      '#3 evict alpha ',
      '  for beta',
    ]);
  });

  it('is painted without blanks at its end, and never empty', () => {
    expect(paintRow([span('a '), span('b  ', 'good'), span('  ')], DARK)).toBe('a \u001b[32mb\u001b[39m');
    expect(paintRow([], PLAIN)).toBe(' ');
  });
});

describe('a table', () => {
  it('gives up its columns one after the other until it fits', () => {
    const columns = ['a', 'b', 'c', 'd'].map((key) => ({ key, title: key, width: 5, align: 'left' as const }));
    const kept = (width: number): string =>
      fitColumns(columns, width, ['c', 'a'])
        .map(({ key }) => key)
        .join('');
    expect(kept(23)).toBe('abcd');
    expect(kept(22)).toBe('abd');
    expect(kept(16)).toBe('bd');
    expect(kept(3)).toBe('bd');
  });
});

describe('a bar', () => {
  const parts = (held: number, free: number): { bytes: number; glyph: string; tone: 'plain' }[] => [
    { bytes: held, glyph: 'q', tone: 'plain' },
    { bytes: free, glyph: '.', tone: 'plain' },
  ];

  it('has its mark at the margin', () => {
    expect(text(bar(parts(50, 50), 100, 10, 10, ASCII))).toBe('[qqqqq...|.]');
  });

  it('shows a model however small it is', () => {
    expect(text(bar(parts(1, 999), 1_000, 0, 10, ASCII))).toBe('[q.........]');
  });

  it('always has the same width', () => {
    const bytes = fc.nat(1_000);
    fc.assert(
      fc.property(bytes, bytes, bytes, fc.integer({ min: 1, max: 30 }), (held, free, margin, cells) => {
        expect(text(bar(parts(held, free), held + free, margin, cells, ASCII))).toHaveLength(cells + 2);
      }),
    );
  });
});

describe('the window of a list', () => {
  const naturals = fc.nat(60);

  it('has the selected row in it, is full when it can be, and counts what is hidden', () => {
    fc.assert(
      fc.property(naturals, fc.integer({ min: 1, max: 20 }), naturals, naturals, (length, height, chosen, previous) => {
        const selected = length === 0 ? -1 : chosen % length;
        const window = listWindow(length, height, selected, previous);
        if (selected >= 0) {
          expect(selected).toBeGreaterThanOrEqual(window.offset);
          expect(selected).toBeLessThan(window.offset + height);
        }
        expect(window.above + Math.min(height, length) + window.below).toBe(length);
      }),
    );
  });

  it('stays where it is while the selected row is in it', () => {
    expect(listWindow(50, 10, 14, 10).offset).toBe(10);
    expect(listWindow(50, 10, 20, 10).offset).toBe(11);
    expect(listWindow(50, 10, 9, 10).offset).toBe(9);
  });
});

describe('the glyph set', () => {
  it('follows the locale: the first variable that says something decides', () => {
    expect(chooseGlyphs('auto', { LANG: 'en_US.UTF-8' }).name).toBe('unicode');
    expect(chooseGlyphs('auto', { LANG: 'en_US.UTF-8', LC_ALL: 'C' }).name).toBe('ascii');
    expect(chooseGlyphs('auto', { LANG: 'de_DE.utf8', LC_ALL: '' }).name).toBe('unicode');
    expect(chooseGlyphs('auto', {}).name).toBe('ascii');
    expect(chooseGlyphs('auto', { LANG: 'en_US.UTF-8', TERM: 'linux' }).name).toBe('ascii');
  });

  it('is what was asked for where something was', () => {
    expect(chooseGlyphs('unicode', {}).name).toBe('unicode');
    expect(chooseGlyphs('ascii', { LANG: 'en_US.UTF-8' }).name).toBe('ascii');
  });
});
