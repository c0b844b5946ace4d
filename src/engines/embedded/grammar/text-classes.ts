/** A set of characters as ranges of code points, in order and apart from each other. */
export type Characters = readonly (readonly [number, number])[];

const LAST = 0x10_ffff;
/** What stands in a JSON text only with an escape, and halves of characters. */
const ESCAPED: Characters = [
  [0, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x7f, 0x7f],
  [0xd800, 0xdfff],
];

export const DIGITS: Characters = [[0x30, 0x39]];
export const WORD: Characters = [...DIGITS, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
/** Of all white space the one that JSON writes as it is. */
export const SPACE: Characters = [[0x20, 0x20]];
export const NOT_SPACE: Characters = complement([
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]);
export const ANY: Characters = complement([
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]);

export function union(sets: readonly Characters[]): Characters {
  const merged: (readonly [number, number])[] = [];
  for (const [from, to] of sets.flat().toSorted(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last === undefined || from > last[1] + 1) merged.push([from, to]);
    else merged[merged.length - 1] = [last[0], Math.max(last[1], to)];
  }
  return merged;
}

export function complement(set: Characters): Characters {
  const others: (readonly [number, number])[] = [];
  let next = 0;
  for (const [from, to] of union([set])) {
    if (from > next) others.push([next, from - 1]);
    next = to + 1;
  }
  return next > LAST ? others : [...others, [next, LAST]];
}

/** One character of the set, as GBNF for the inside of a JSON text; what needs an escape is left out. Null for none. */
export function characterRule(set: Characters): string | null {
  const plain = complement(union([complement(set), ESCAPED]));
  if (plain.length === 0) return null;
  const point = (code: number): string => String.raw`\U${code.toString(16).padStart(8, '0').toUpperCase()}`;
  return `[${plain.map(([from, to]) => (from === to ? point(from) : `${point(from)}-${point(to)}`)).join('')}]`;
}
