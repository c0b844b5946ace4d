import { visibleText } from '../../components/text/clean.js';
import { DEFAULT_CORS, type CorsPolicy } from '../router/cors.js';
import { UsageError } from './usage-error.js';

/** One of the words for several, or what a browser sends as `Origin`: `null`, or a scheme and a host without a path. */
const ORIGIN = /^(?:\*|localhost|null|[a-z][a-z\d+.-]*:\/\/(?:(?![/?#])[!-~])+)$/iu;
/** A name of a method or header (RFC 9110, 5.6.2: token). */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/u;

/**
 * Which pages may call. Throws UsageError for values that could be no such header: answers would have none, or fail.
 * @param given values of the flags; null: not given
 */
export function readCors(
  given: Readonly<Record<'origins' | 'methods' | 'headers', string | null>>,
  credentials: boolean,
): CorsPolicy {
  return {
    origins:
      listOf('--cors-origins', given.origins, ORIGIN, '*, localhost, or origins like https://example.org') ??
      DEFAULT_CORS.origins,
    methods: listOf('--cors-methods', given.methods, TOKEN, '* or names of methods') ?? DEFAULT_CORS.methods,
    headers: listOf('--cors-headers', given.headers, TOKEN, '* or names of headers') ?? DEFAULT_CORS.headers,
    credentials,
  };
}

function listOf(flag: string, value: string | null, one: RegExp, takes: string): string | null {
  // Other white space could not stand in a header, or would end it.
  if (value === null || value.split(',').every((part) => one.test(part.replace(/^ +| +$/gu, '')))) return value;
  throw new UsageError(`${flag} takes ${takes}, with commas between them, not '${visibleText(value)}'.`);
}
