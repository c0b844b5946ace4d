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
  const short = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return short.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, '�');
}
