// No regular expression here may look at a character twice for two reasons: what it reads is made by whoever likes to.
/* eslint-disable no-control-regex -- finding control characters is what these are for */

/** Operating system commands, up to their end: a title, a link, a colour of the terminal. */
const COMMANDS = /(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)/gu;
/** Control sequences with their parameters, then all other escape sequences (ECMA-48). */
const SEQUENCES = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b[ -/]*[0-~]/gu;
// C0 and C1 controls, DEL, line and paragraph separators, and the marks that turn the direction of text around.
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const ANY_UNPRINTABLE = new RegExp(UNPRINTABLE.source, 'u');

/**
 * Makes a line of a child's output safe to print: no escape sequence, control character or text-direction
 * mark is left, so nothing in it can move the cursor or change the terminal. Tabs become one space.
 */
export function stripControls(line: string): string {
  if (!ANY_UNPRINTABLE.test(line)) return line;
  return line.replace(COMMANDS, '').replace(SEQUENCES, '').replaceAll('\t', ' ').replace(UNPRINTABLE, '');
}
