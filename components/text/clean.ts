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

/** Text that is safe to draw: one line, without anything that a terminal would obey or hide. */
export function cleanText(text: string): string {
  if (isPlainAscii(text)) return text;
  return text.replace(SEQUENCES, '').replace(BREAKS, ' ').replace(INVISIBLE, '');
}
