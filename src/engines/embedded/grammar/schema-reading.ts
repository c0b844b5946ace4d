import { SchemaError, UnenforceableError, type Schema, type Where } from './json-grammar.js';
import { MOST_REPETITIONS } from './repetitions.js';

/** Keywords that say nothing about which values are valid. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...['title', 'description', 'default', 'example', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['$schema', '$id', '$comment', '$defs', 'definitions', 'strict'],
]);
/** Throws the error that names the first keyword that is not among these. */
export function only(node: Schema, keywords: readonly string[], where: Where): void {
  const other = Object.keys(node).find((name) => !keywords.includes(name) && !ANNOTATIONS.has(name));
  if (other !== undefined) throw unsupported(other, where);
}

/** @param keywords what would have to be left out, where that is not what is named */
export function unsupported(
  keyword: string,
  where: Where,
  keywords: readonly string[] = [keyword],
): UnenforceableError {
  return new UnenforceableError(
    `"${keyword}" ${at(where)} cannot be enforced by the embedded engine.`,
    where,
    keywords,
  );
}

export function at(where: Where): string {
  return where.length === 0 ? 'at the top' : `at '${where.join('.')}'`;
}

export function countOf(node: Schema, name: string, where: Where): number | null {
  const value = node[name];
  if (value === undefined) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST_REPETITIONS) return value;
  const message = `"${name}" ${at(where)} must be a whole number from 0 to ${MOST_REPETITIONS}.`;
  if (typeof value === 'number' && value > MOST_REPETITIONS) throw new UnenforceableError(message, where, [name]);
  throw new SchemaError(message);
}

export function listOf(node: Schema, name: string, where: Where): readonly unknown[] {
  const value = node[name];
  if (Array.isArray(value) && value.length > 0) return value as readonly unknown[];
  throw new SchemaError(`"${name}" ${at(where)} must be a list with at least one element.`);
}

/** Follows a JSON pointer within the schema; undefined where it leads nowhere. */
export function resolve(schema: unknown, reference: string): unknown {
  if (!/^#(?:\/|$)/u.test(reference)) return undefined;
  let found = schema;
  for (const part of reference.split('/').slice(1)) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, name) ? (found as Schema)[name] : undefined;
  }
  return found;
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
