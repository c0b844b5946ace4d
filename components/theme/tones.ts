/** What a piece of text means; a theme says how that looks. Meaning is always in the words as well. */
export type Tone =
  | 'plain'
  | 'dim'
  | 'strong'
  | 'good'
  | 'busy'
  | 'warn'
  | 'bad'
  | 'accent'
  | 'external'
  | `model${0 | 1 | 2 | 3 | 4 | 5}`;

/** The SGR codes of a tone: switched on before the text, off after it. */
export interface Ink {
  readonly on: string;
  readonly off: string;
}

export type Theme = Readonly<Record<Tone, Ink>>;

const none: Ink = { on: '', off: '' };

function foreground(code: number): Ink {
  return { on: `\u001b[${code}m`, off: '\u001b[39m' };
}

const bold = '\u001b[1m';
const weightOff = '\u001b[22m';

/** Sixteen colours only: the terminal's own palette keeps them readable on its own background. */
export const DARK: Theme = {
  plain: none,
  dim: { on: '\u001b[2m', off: weightOff },
  strong: { on: '\u001b[1m', off: weightOff },
  good: foreground(32),
  busy: foreground(36),
  warn: foreground(33),
  bad: { on: '\u001b[1m\u001b[31m', off: '\u001b[39m\u001b[22m' },
  accent: { on: '\u001b[1m\u001b[36m', off: '\u001b[39m\u001b[22m' },
  external: foreground(35),
  model0: foreground(32),
  model1: foreground(36),
  model2: foreground(33),
  model3: foreground(34),
  model4: foreground(92),
  model5: foreground(94),
};

/** The same without yellow and the bright colours, which nobody can read on a white background. */
export const LIGHT: Theme = {
  ...DARK,
  busy: foreground(34),
  warn: foreground(35),
  accent: { on: `${bold}\u001b[34m`, off: '\u001b[39m\u001b[22m' },
  external: foreground(90),
  model1: foreground(34),
  model2: foreground(35),
  model3: foreground(36),
  model4: foreground(31),
  model5: foreground(90),
};

/** No escape codes at all. */
export const PLAIN: Theme = {
  plain: none,
  dim: none,
  strong: none,
  good: none,
  busy: none,
  warn: none,
  bad: none,
  accent: none,
  external: none,
  model0: none,
  model1: none,
  model2: none,
  model3: none,
  model4: none,
  model5: none,
};

/** Weights, and no colours. */
export const MONO: Theme = {
  ...PLAIN,
  dim: DARK.dim,
  strong: DARK.strong,
  warn: { on: bold, off: weightOff },
  bad: { on: `${bold}\u001b[7m`, off: `\u001b[27m${weightOff}` },
  accent: { on: bold, off: weightOff },
};

/** The tone of the n-th model; there are fewer tones than models, the letter tells them apart. */
export function modelTone(index: number): Tone {
  const tones = ['model0', 'model1', 'model2', 'model3', 'model4', 'model5'] as const;
  return tones[index % tones.length] ?? 'model0';
}
