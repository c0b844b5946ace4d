import { stripVTControlCharacters } from 'node:util';

// C0 and C1 controls, DEL, line and paragraph separators, and the marks that turn the direction of text around.
// eslint-disable-next-line no-control-regex -- finding control characters is what this is for
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Makes a line of a child's output safe to print: no escape sequence, control character or text-direction
 * mark is left, so nothing in it can move the cursor or change the terminal. Tabs become one space.
 */
export function stripControls(line: string): string {
  if (line.search(UNPRINTABLE) === -1) return line;
  return stripVTControlCharacters(line).replaceAll('\t', ' ').replace(UNPRINTABLE, '');
}
