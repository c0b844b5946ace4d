import { SchemaError, UnenforceableError, type Schema, type Where } from './json-grammar.js';
import { patternRule } from './json-pattern-rule.js';
import { at, countOf, unsupported } from './schema-reading.js';

const DAYS = '( "0" [1-9] | "1" [0-9] | "2" [0-8] )';
/** Without the 29th of February, which not every year has. */
const DATE =
  `[0-9]{4} "-" ( ( "0" [1-9] | "1" [0-2] ) "-" ${DAYS} | ( "0" [13-9] | "1" [0-2] ) "-" ( "29" | "30" )` +
  ` | ( "0" [13578] | "1" [02] ) "-31" )`;
const TIME =
  '( [01] [0-9] | "2" [0-3] ) ":" [0-5] [0-9] ":" [0-5] [0-9] ( "." [0-9]{1,6} )? ( "Z" | [-+] ( [01] [0-9] | "2" [0-3] ) ":" [0-5] [0-9] )';
const HEX = '[0-9a-f]';
const LABEL = '[A-Za-z0-9]{1,40}';
const HOST = `${LABEL} ( "." ${LABEL} ){0,3} "." [A-Za-z]{2,12}`;
const OCTET = '( [1-9]? [0-9] | "1" [0-9] [0-9] | "2" [0-4] [0-9] | "25" [0-5] )';
/** The formats of strings that can be enforced. */
const FORMATS: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  'date-time': `${DATE} "T" ${TIME}`,
  email: `[A-Za-z0-9_+-]{1,40} ( "." [A-Za-z0-9_+-]{1,40} ){0,2} "@" ${HOST}`,
  ipv4: `${OCTET} "." ${OCTET} "." ${OCTET} "." ${OCTET}`,
  uri: String.raw`[a-z] [a-z0-9+.-]{1,15} ":" ( "//" [A-Za-z0-9] )? [A-Za-z0-9._~/?#@!$&'()*+,;=:%-]{1,400}`,
  uuid: `${HEX}{8} "-" ${HEX}{4} "-" ${HEX}{4} "-" ${HEX}{4} "-" ${HEX}{12}`,
};

const LENGTHS: readonly string[] = ['minLength', 'maxLength'];
export const STRING_KEYWORDS: readonly string[] = [...LENGTHS, 'format', 'pattern'];

/** A string of a given length, format or pattern. Throws SchemaError with one sentence. */
export function defineStringRule(node: Schema, where: Where): string {
  const { format, pattern } = node;
  const [min, max] = LENGTHS.map((name) => countOf(node, name, where));
  const inside = (): string => {
    // Where both are given, as some clients do, the format only explains the pattern.
    if (pattern !== undefined) return patterned(pattern, min ?? 0, max ?? Infinity, where);
    if (format === undefined) return `char{${min ?? 0},${max ?? ''}}`;
    if (min != null || max != null) throw unsupported('format together with a length', where, LENGTHS);
    return formatted(format, where);
  };
  if (max != null && max < (min ?? 0)) throw new SchemaError(`"maxLength" ${at(where)} is below "minLength".`);
  if (pattern === undefined && format === undefined && min == null && max == null) return 'string';
  if (max === 0 && pattern === undefined) return String.raw`"\"\""`;
  return String.raw`"\"" ${inside()} "\""`;
}

function formatted(format: unknown, where: Where): string {
  const known = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (known !== undefined) return known;
  const name = typeof format === 'string' ? format : 'that is no name';
  const message = `"format" '${name}' ${at(where)} cannot be enforced; the embedded engine knows ${Object.keys(FORMATS).join(', ')}.`;
  throw new UnenforceableError(message, where, ['format']);
}

function patterned(pattern: unknown, min: number, max: number, where: Where): string {
  const found = typeof pattern === 'string' ? patternRule(pattern) : null;
  if (found === null) throw unsupported('pattern', where);
  if (found.least < min || found.most > max) throw unsupported('pattern together with a length', where, LENGTHS);
  return found.rule;
}
