import type { LineInput } from '../../src/store/screen-store.js';
import { textWidth } from '../text/width.js';
import { cutRow, rowWidth, span, spreadRow, wrapRow, type Row } from '../widgets/row.js';
import type { ScreenView } from '../view.js';

/** A key and the few words it is called by in the last row. */
export interface Hint {
  readonly key: string;
  readonly label: string;
}

/** What the table of commands has for the last row. */
export interface FooterTexts {
  readonly hints: readonly Hint[];
  /** What the command that is being typed may go on with; null: nothing of it is typed yet. */
  readonly choices: Choices | null;
}

/** What a line may go on with. */
export interface Choices {
  /** Of each only what is still open. */
  readonly labels: readonly string[];
  /** The one that was put into the line; null: none yet. */
  readonly at: number | null;
  /** What that one does; null: none is in the line. */
  readonly about: string | null;
  /** All of them are to be seen, to choose from. */
  readonly isListed: boolean;
}

const TYPING_HELP: Readonly<Record<LineInput['kind'], string>> = {
  filter: '!word excludes, Enter keeps, Esc drops',
  command: 'Tab lists and completes, Up brings back, Enter runs it, Esc drops it',
  search: 'Enter looks for it, Esc drops it; n and N go on',
};

/** Cells for `Esc back` and `q leave`, with the gap. */
const KEYS_LEAST = 24;

/** Blanks between the keys and a message, at least. */
const MESSAGE_GAP = 2;

/**
 * The last row: what is being typed, else the keys that do something here. What there is to say stands beside it, or on
 * rows of its own before it where it would have to be cut, or would hide the keys.
 */
export function footerRows(view: ScreenView, texts: FooterTexts, width: number): Row[] {
  const { glyphs } = view.options;
  const { input, message } = view.screen;
  const typed = input === null ? null : typedRow(input);
  const help = input === null ? [] : [span(`  ${typingHelp(input.kind, texts.choices)}`, 'dim')];
  const alone = typed === null ? hintsRow(texts.hints, width) : cutRow([...typed, ...help], width, glyphs.cut);
  if (message === null) return [alone];
  const said = span(message.text, message.tone);
  // However long the message, some keys stay to be seen: the way back and the way out among them.
  const room = width - (typed === null ? Math.max(KEYS_LEAST, Math.floor(width / 3)) : rowWidth(typed) + MESSAGE_GAP);
  if (rowWidth([said]) > room) return [...wrapRow([span(' '), said], width), alone];
  if (typed !== null) return [[...typed, span(' '.repeat(MESSAGE_GAP)), said]];
  const keys = hintsRow(texts.hints, width - rowWidth([said]) - MESSAGE_GAP - 1);
  return [spreadRow(keys, [said, span(' ')], width, glyphs.cut)];
}

function typedRow({ kind, text }: LineInput): Row {
  return [span(` ${kind === 'command' ? ':' : '/'}`, 'accent'), span(text), span('_', 'accent')];
}

function typingHelp(kind: LineInput['kind'], choices: Choices | null): string {
  if (choices === null || choices.labels.length === 0) return TYPING_HELP[kind];
  return choices.isListed ? 'Tab and arrows choose, Enter runs it, Esc drops it' : choices.labels.join('  ');
}

/** With the keys that move on a page of which there is more, right after the way back. */
export function withMoving(texts: FooterTexts, label: 'scroll' | 'choose', width: number): FooterTexts {
  const keys = label === 'choose' ? 'j k' : width >= 100 ? 'j k PgDn PgUp' : 'j k PgDn';
  const [back, ...others] = texts.hints;
  return { ...texts, hints: [...(back === undefined ? [] : [back]), { key: keys, label }, ...others] };
}

/** True when the last row has something that must be seen, whatever the room. */
export function footerIsUrgent(view: ScreenView): boolean {
  return view.screen.input !== null || view.screen.message !== null;
}

/** As many hints as there is room for; the last one, how to leave, always has its place. */
function hintsRow(hints: readonly Hint[], width: number): Row {
  const last = hints.at(-1);
  if (last === undefined) return [];
  let room = width - hintWidth(last);
  const shown: Hint[] = [];
  for (const hint of hints.slice(0, -1)) {
    room -= hintWidth(hint);
    if (room < 0) break;
    shown.push(hint);
  }
  return [...shown, last].flatMap(({ key, label }, index): Row => [
    span(index === 0 ? ' ' : '  '),
    span(key, 'accent'),
    span(` ${label}`, 'dim'),
  ]);
}

function hintWidth({ key, label }: Hint): number {
  return textWidth(key) + textWidth(label) + 3;
}
