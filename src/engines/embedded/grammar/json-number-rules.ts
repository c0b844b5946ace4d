import { SchemaError, type Schema, type Where } from './json-grammar.js';
import { at, unsupported } from './schema-reading.js';

const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
export const NUMBER_KEYWORDS: readonly string[] = [...BOUNDS, 'format'];
/** How a number is stored, with the least and the greatest whole one that fits; fractions are not told apart. */
const FORMATS: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-Infinity, Infinity],
  float: [-Infinity, Infinity],
  double: [-Infinity, Infinity],
};

/** Beyond these, neighbours are the same number to a client. */
const MOST = Number.MAX_SAFE_INTEGER;
/** Digits after the point are few and whole parts small where there are bounds, so that none is crossed by rounding. */
const FRACTION = '"." [0-9]{0,5} [1-9]';
const MOST_BEFORE_FRACTION = 1e9;

interface Bounds {
  readonly from: number;
  readonly to: number;
}

/** A whole number within the bounds of the schema. Throws SchemaError where there is none. */
export function integerRule(node: Schema, where: Where): string {
  const bounds = boundsOf(node, where);
  if (bounds === null) return 'integer';
  const rule = wholeNumbers(wholeBounds(node, bounds));
  if (rule === null) throw new SchemaError(`The bounds ${at(where)} leave no whole number.`);
  return rule;
}

/** A number within the bounds of the schema, at most six digits after the point. Throws SchemaError for too close ones. */
export function numberRule(node: Schema, where: Where): string {
  const bounds = boundsOf(node, where);
  if (bounds === null) return 'number';
  const { from, to } = bounds;
  const above = wholeNumbers({ from: Math.max(0, Math.ceil(from)), to: Math.min(MOST_BEFORE_FRACTION, to - 1) });
  const below = wholeNumbers({ from: Math.max(0, Math.ceil(-to)), to: Math.min(MOST_BEFORE_FRACTION, -from - 1) });
  const options = [
    wholeNumbers(wholeBounds(node, bounds)),
    above === null ? null : `${above} ${FRACTION}`,
    below === null ? null : `"-" ${below} ${FRACTION}`,
  ].filter((option) => option !== null);
  if (options.length === 0) throw unsupported('minimum and maximum without a whole number between them', where);
  return `( ${options.join(' | ')} )`;
}

function boundsOf(node: Schema, where: Where): Bounds | null {
  const [minimum, maximum, above, below] = BOUNDS.map((name) => {
    const value = node[name];
    if (value === undefined) return null;
    if (typeof value !== 'number') throw new SchemaError(`"${name}" ${at(where)} is no number.`);
    return value;
  });
  const [least, most] = fitting(node['format'], where);
  const from = Math.max(least, minimum ?? -Infinity, above ?? -Infinity);
  const to = Math.min(most, maximum ?? Infinity, below ?? Infinity);
  if (from === -Infinity && to === Infinity) return null;
  if (to < from) throw new SchemaError(`"maximum" ${at(where)} is below "minimum".`);
  return { from, to };
}

function fitting(format: unknown, where: Where): readonly [number, number] {
  if (format === undefined) return [-Infinity, Infinity];
  const range = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (range === undefined) throw unsupported('format', where);
  return range;
}

/** The whole numbers within; a bound that is itself excluded is left out. */
function wholeBounds(node: Schema, { from, to }: Bounds): Bounds {
  const first = Math.ceil(Math.max(from, -MOST));
  const last = Math.floor(Math.min(to, MOST));
  return {
    from: first === node['exclusiveMinimum'] ? first + 1 : first,
    to: last === node['exclusiveMaximum'] ? last - 1 : last,
  };
}

/** An expression for exactly the whole numbers within; null for none. */
function wholeNumbers({ from: least, to: most }: Bounds): string | null {
  const [from, to] = [Math.ceil(least), Math.floor(most)];
  if (to < from) return null;
  const options: string[] = [];
  if (from < 0) options.push(`"-" ${alternatives(naturals(Math.max(1, -to), -from))}`);
  if (to >= 0) options.push(...naturals(Math.max(0, from), to));
  return alternatives(options);
}

/** From `from` to `to`, both at least 0: one or more expressions for each number of digits. */
function naturals(from: number, to: number): readonly string[] {
  const options: string[] = [];
  for (let length = String(from).length; length <= String(to).length; length += 1) {
    const least = Math.max(from, length === 1 ? 0 : 10 ** (length - 1));
    const most = Math.min(to, 10 ** length - 1);
    options.push(...digits(String(least), String(most)));
  }
  return options;
}

/** Numbers between two of the same length. */
function digits(from: string, to: string): readonly string[] {
  if (from === '') return [''];
  const [low, high, rest] = [Number(from[0]), Number(to[0]), from.length - 1];
  const [zeros, nines] = ['0'.repeat(rest), '9'.repeat(rest)];
  if (low === high) return [`"${low}" ${alternatives(digits(from.slice(1), to.slice(1)))}`.trim()];
  const options: string[] = [];
  const [firstFull, lastFull] = [from.slice(1) === zeros ? low : low + 1, to.slice(1) === nines ? high : high - 1];
  if (firstFull > low) options.push(`"${low}" ${alternatives(digits(from.slice(1), nines))}`);
  if (firstFull <= lastFull) options.push(`[${firstFull}-${lastFull}]${rest === 0 ? '' : ` [0-9]{${rest}}`}`);
  if (lastFull < high) options.push(`"${high}" ${alternatives(digits(zeros, to.slice(1)))}`);
  return options;
}

function alternatives(options: readonly string[]): string {
  return options.length === 1 ? (options[0] ?? '') : `( ${options.join(' | ')} )`;
}
