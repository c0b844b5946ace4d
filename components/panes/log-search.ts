import type { LogTail } from '../../src/store/screen-store.js';
import { cleanText } from '../text/clean.js';

interface Found {
  readonly search: string;
  readonly lines: readonly number[];
}

/** A log is searched once for as long as neither it nor what is looked for changes. */
const found = new WeakMap<readonly string[], Found>();

/** The numbers of the lines that have this text in them, in any case, in order. */
export function matchingLines({ lines, dropped }: LogTail, search: string): readonly number[] {
  const wanted = search.toLowerCase();
  if (wanted === '') return [];
  const known = found.get(lines);
  if (known?.search === wanted) return known.lines;
  const matching = lines.flatMap((line, index) =>
    cleanText(line).toLowerCase().includes(wanted) ? [dropped + index] : [],
  );
  found.set(lines, { search: wanted, lines: matching });
  return matching;
}

/** The next of these after a line, or before it; around the end where there is none. Null: there are none at all. */
export function nextMatch(
  matches: readonly number[],
  from: number,
  direction: 1 | -1,
): { readonly line: number; readonly wentAround: boolean } | null {
  const next = direction === 1 ? matches.find((line) => line > from) : matches.findLast((line) => line < from);
  if (next !== undefined) return { line: next, wentAround: false };
  const around = direction === 1 ? matches[0] : matches.at(-1);
  return around === undefined ? null : { line: around, wentAround: true };
}

/** A text in pieces, with those that match told apart. */
export function markMatches(
  text: string,
  search: string,
): readonly { readonly text: string; readonly matches: boolean }[] {
  const wanted = search.toLowerCase();
  const searched = text.toLowerCase();
  // A letter whose small form has another length would put the marks beside the matches.
  if (wanted === '' || searched.length !== text.length) return [{ text, matches: false }];
  const pieces: { text: string; matches: boolean }[] = [];
  let from = 0;
  for (;;) {
    const at = searched.indexOf(wanted, from);
    if (at < 0) break;
    if (at > from) pieces.push({ text: text.slice(from, at), matches: false });
    pieces.push({ text: text.slice(at, at + wanted.length), matches: true });
    from = at + wanted.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), matches: false });
  return pieces;
}
