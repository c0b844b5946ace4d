import { SchemaError, type Schema, type Where } from './json-grammar.js';
import { at, MOST_REPETITIONS } from './schema-reading.js';

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

export const STRING_KEYWORDS: readonly string[] = ['minLength', 'maxLength', 'format'];

/** A string of a given length or format. Throws SchemaError with one sentence. */
export function defineStringRule(node: Schema, where: Where): string {
  const place = at(where);
  const { format, minLength, maxLength } = node;
  if (format !== undefined) {
    const known = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
    if (known === undefined) {
      throw new SchemaError(
        `"format" '${typeof format === 'string' ? format : 'that is no name'}' ${place} cannot be enforced; the embedded engine knows ${Object.keys(FORMATS).join(', ')}.`,
      );
    }
    if (minLength !== undefined || maxLength !== undefined) {
      throw new SchemaError(`"format" ${place} cannot be enforced together with a length.`);
    }
    return String.raw`"\"" ${known} "\""`;
  }
  const [min, max] = [minLength, maxLength].map((value) => {
    if (value === undefined) return null;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST_REPETITIONS) return value;
    throw new SchemaError(`"minLength" and "maxLength" ${place} must be whole numbers from 0 to ${MOST_REPETITIONS}.`);
  });
  if (min == null && max == null) return 'string';
  if (max != null && max < (min ?? 0)) throw new SchemaError(`"maxLength" ${place} is below "minLength".`);
  if (max === 0) return String.raw`"\"\""`;
  return String.raw`"\"" char{${min ?? 0},${max ?? ''}} "\""`;
}
