const ESC = '\u001b';
const BEL = '\u0007';

/** Whole terminal sequences (CSI; OSC, DCS, SOS, PM and APC strings; other escapes), so that no rest of one stays as text. */
const SEQUENCES = new RegExp(
  [
    `(?:${ESC}\\[|\u009b)[0-?]*[ -/]*[@-~]?`,
    `(?:${ESC}[\\]PX^_]|[\u0090\u0098\u009d\u009e\u009f])[^${BEL}${ESC}\u009c]*(?:${BEL}|${ESC}\\\\|\u009c)?`,
    `${ESC}[ -/]*[0-~]?`,
  ].join('|'),
  'gu',
);

/** White space that ends a line or moves the cursor; it keeps words apart, so it becomes a blank. */
const BREAKS = /[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]+/gu;

/**
 * Controls, invisible formatting (bidirectional overrides, zero-width characters), broken surrogates, and variation
 * selectors, about whose width terminals disagree.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Variation_Selector}]/gu;

const PRINTABLE_ASCII = /^[ -~]*$/;

/** True for text in which every character is one cell wide and harmless. */
export function isPlainAscii(text: string): boolean {
  return PRINTABLE_ASCII.test(text);
}

/** Blanks that are none of the ordinary kind look like it, or like nothing. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Variation_Selector}]|(?! )\p{Zs}/gu;

/** Those that have a short name in shells and programs alike. */
const SHORT: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', [ESC]: '\\e' };

/**
 * Text that is safe to draw and hides nothing: what a terminal would obey, or not show, stands there as a shell would
 * write it (`\t`, `\u200b`), so that two names that differ look different.
 */
export function visibleText(text: string): string {
  if (isPlainAscii(text)) return text;
  return text.replace(UNSEEN, (character) => SHORT[character] ?? escapeOf(character.codePointAt(0) ?? 0));
}

function escapeOf(code: number): string {
  const hex = code.toString(16);
  // To a shell this is a byte, which from 0x80 on is no character.
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/** What a program has printed, safe to draw: one line, without anything that a terminal would obey or hide. */
export function cleanText(text: string): string {
  if (isPlainAscii(text)) return text;
  return text.replace(SEQUENCES, '').replace(BREAKS, ' ').replace(INVISIBLE, '');
}
