/** The marks that the screen draws with; letters and digits are the same everywhere. */
export interface Glyphs {
  readonly name: 'ascii' | 'unicode';
  readonly rule: string;
  /** The rule of the pane that has the keys. */
  readonly focusedRule: string;
  readonly selected: string;
  readonly cut: string;
  readonly free: string;
  readonly reserved: string;
  readonly releasing: string;
  readonly external: string;
  readonly margin: string;
  readonly above: string;
  readonly below: string;
}

export const ASCII: Glyphs = {
  name: 'ascii',
  rule: '-',
  focusedRule: '=',
  selected: '>',
  cut: '..',
  free: '.',
  reserved: ':',
  releasing: '~',
  external: '#',
  margin: '|',
  above: '^',
  below: 'v',
};

export const UNICODE: Glyphs = {
  name: 'unicode',
  rule: '─',
  focusedRule: '━',
  selected: '›',
  cut: '…',
  free: '·',
  reserved: '░',
  releasing: '~',
  external: '▒',
  margin: '│',
  above: '↑',
  below: '↓',
};

export type GlyphChoice = 'ascii' | 'unicode' | 'auto';

/**
 * The glyph set to draw with. `auto` takes Unicode where the locale's character set is UTF-8, in POSIX's order:
 * the first of LC_ALL, LC_CTYPE and LANG that is set and not empty decides.
 */
export function chooseGlyphs(choice: GlyphChoice, env: Readonly<Record<string, string | undefined>>): Glyphs {
  switch (choice) {
    case 'ascii':
      return ASCII;
    case 'unicode':
      return UNICODE;
    case 'auto': {
      if (env.TERM === 'dumb' || env.TERM === 'linux') return ASCII;
      const locale = [env.LC_ALL, env.LC_CTYPE, env.LANG].find((value) => value !== undefined && value !== '') ?? '';
      return /utf-?8/i.test(locale) ? UNICODE : ASCII;
    }
  }
}
