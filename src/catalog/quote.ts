const LONGEST = 80;

/**
 * Text from a file or a file name, fit to be shown inside a sentence: in quotes, on one line, without control
 * characters (they could move a terminal's cursor), and cut when long.
 */
export function quote(text: string): string {
  return `"${printable(text, LONGEST)}"`;
}

/** The same without the quotes. `longest` counts UTF-16 units. */
export function printable(text: string, longest: number): string {
  // What is far longer than what is shown need not be read.
  const clean = text.slice(0, longest * 4).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\uFFFD]/gu, '');
  return clean.length > longest || text.length > longest * 4 ? `${clean.slice(0, longest)}…` : clean;
}
