import { defineStringRule, STRING_KEYWORDS } from './json-string-rules.js';
import { COMMON_RULES, literal, SchemaError, type Rules, type Schema, type Where } from './json-grammar.js';

/** Keywords that say nothing about which values are valid. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...['title', 'description', 'default', 'example', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['$schema', '$id', '$comment', '$defs', 'definitions', 'strict'],
]);
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: STRING_KEYWORDS,
  number: [],
  integer: ['minimum', 'maximum'],
  boolean: [],
  null: [],
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems'],
};
const TYPES = Object.keys(KEYWORDS);
/** Whole numbers between two bounds are listed one by one; more than this are not. */
const MOST_LISTED_INTEGERS = 1000;
/** llama.cpp writes repetitions out; larger ones cost more than anybody needs. */
const MOST_REPETITIONS = 1000;
const MOST_RULES = 5000;
const DEEPEST = 64;

/**
 * A GBNF grammar whose every text is JSON that satisfies the schema. It may be narrower than the schema (properties
 * come in the order in which they are named, and none that is not named where some are), never wider: what cannot be
 * expressed is refused. `oneOf` is read as `anyOf`. Throws SchemaError with one sentence that names the keyword.
 */
export function grammarForSchema(schema: unknown): string {
  const rules: Rules = new Map(COMMON_RULES);
  const references = new Map<string, string>();
  let created = 0;

  const define = (expression: string): string => {
    created += 1;
    if (created > MOST_RULES) throw new SchemaError('The schema is too large.');
    const name = `r${created}`;
    rules.set(name, expression);
    return name;
  };

  const visit = (node: unknown, where: Where): string => {
    if (where.length > DEEPEST) throw new SchemaError(`The schema is nested more than ${DEEPEST} levels deep.`);
    if (node === true) return 'value';
    if (!isSchema(node)) throw new SchemaError(`The schema ${at(where)} is not an object; it allows nothing.`);
    if ('$ref' in node) return visitReference(node, where);
    if ('const' in node) {
      only(node, ['const', 'type'], where);
      return literal(node['const']);
    }
    if ('enum' in node) {
      only(node, ['enum', 'type'], where);
      return define(listOf(node, 'enum', where).map(literal).join(' | '));
    }
    for (const choice of ['anyOf', 'oneOf']) {
      if (!(choice in node)) continue;
      only(node, [choice], where);
      const options = listOf(node, choice, where);
      return define(options.map((option, index) => visit(option, [...where, choice, String(index)])).join(' | '));
    }
    if ('allOf' in node) {
      only(node, ['allOf'], where);
      const [single, ...more] = listOf(node, 'allOf', where);
      if (more.length > 0) throw unsupported('allOf with more than one schema', where);
      return visit(single, [...where, 'allOf', '0']);
    }
    return visitTyped(node, where);
  };

  const visitReference = (node: Schema, where: Where): string => {
    only(node, ['$ref'], where);
    const reference = String(node['$ref']);
    const known = references.get(reference);
    if (known !== undefined) return known;
    const target = resolve(schema, reference);
    if (target === undefined)
      throw new SchemaError(`"$ref" ${at(where)} points to '${reference}', which is not there.`);
    const name = define('');
    references.set(reference, name);
    const found = visit(target, [...where, '$ref']);
    if (found === name) throw new SchemaError(`"$ref" ${at(where)} points to itself.`);
    rules.set(name, found);
    return name;
  };

  const visitTyped = (node: Schema, where: Where): string => {
    const types = typesOf(node, where);
    only(node, ['type', ...types.flatMap((type) => KEYWORDS[type] ?? [])], where);
    if (types.length === 0) return 'value';
    return define(types.map((type) => visitType(type, node, where)).join(' | '));
  };

  const visitType = (type: string, node: Schema, where: Where): string => {
    switch (type) {
      case 'string':
        return defineStringRule(node, where, MOST_REPETITIONS);
      case 'integer':
        return integerRule(node, where);
      case 'object':
        return objectRule(node, where);
      case 'array':
        return arrayRule(node, where);
      case 'number':
      case 'boolean':
      case 'null':
        return type;
      default:
        throw new SchemaError(`"type" ${at(where)} is '${type}'; it must be one of ${TYPES.join(', ')}.`);
    }
  };

  const objectRule = (node: Schema, where: Where): string => {
    const named = node['properties'] ?? {};
    const required = node['required'] ?? [];
    if (!isSchema(named)) throw new SchemaError(`"properties" ${at(where)} must be an object.`);
    if (!isTexts(required)) throw new SchemaError(`"required" ${at(where)} must be a list of names.`);
    const others = Object.fromEntries(required.filter((name) => !(name in named)).map((name) => [name, true]));
    const properties = Object.entries({ ...named, ...others });
    if (properties.length === 0) {
      const extra = node['additionalProperties'] ?? true;
      if (extra === false) return '"{" ws "}"';
      const pair = define(`string ":" ws ${visit(extra, [...where, 'additionalProperties'])} ws`);
      return `"{" ws ( ${pair} ( "," ws ${pair} )* )? "}"`;
    }
    // From the last property to the first: what may follow once one has been written, and while none has.
    let after = '';
    let start = '';
    for (const [name, property] of properties.toReversed()) {
      const value = visit(property, [...where, 'properties', name]);
      const pair = define(`${literal(name)} ":" ws ${value} ws`);
      const rest = after === '' ? '' : ` ${define(after)}`;
      if (required.includes(name)) {
        start = `${pair}${rest}`;
        after = `"," ws ${pair}${rest}`;
      } else {
        start = start === '' ? `( ${pair}${rest} )?` : `${pair}${rest} | ${define(start)}`;
        after = `( "," ws ${pair} )?${rest}`;
      }
    }
    return `"{" ws ${define(start)} "}"`;
  };

  const arrayRule = (node: Schema, where: Where): string => {
    const min = countOf(node, 'minItems', where) ?? 0;
    const max = countOf(node, 'maxItems', where);
    if ('prefixItems' in node) {
      const items = listOf(node, 'prefixItems', where);
      if (min > items.length) throw unsupported('minItems above the number of prefixItems', where);
      if (max !== null && max < items.length) throw unsupported('maxItems below the number of prefixItems', where);
      const parts = items.map((item, index) => visit(item, [...where, 'prefixItems', String(index)]));
      return `"[" ws ${parts.map((part) => `${part} ws`).join(' "," ws ')} "]"`;
    }
    if (max === 0 || node['items'] === false) return '"[" ws "]"';
    const item = define(`${visit(node['items'] ?? true, [...where, 'items'])} ws`);
    const more = `{${Math.max(0, min - 1)},${max === null ? '' : max - 1}}`;
    const filled = `${item} ( "," ws ${item} )${more}`;
    return min > 0 ? `"[" ws ${filled} "]"` : `"[" ws ( ${filled} )? "]"`;
  };

  const root = visit(schema, []);
  rules.set('root', root);
  return [...rules].map(([name, expression]) => `${name} ::= ${expression}`).join('\n');
}

function integerRule(node: Schema, where: Where): string {
  const [minimum, maximum] = ['minimum', 'maximum'].map((name) => {
    const value = node[name];
    if (value !== undefined && typeof value !== 'number') throw new SchemaError(`"${name}" ${at(where)} is no number.`);
    return value;
  });
  if (minimum === undefined && maximum === undefined) return 'integer';
  if (minimum !== undefined && maximum !== undefined) {
    const [from, to] = [Math.ceil(minimum), Math.floor(maximum)];
    if (to < from) throw new SchemaError(`"maximum" ${at(where)} is below "minimum".`);
    if (to - from < MOST_LISTED_INTEGERS) {
      return `( ${Array.from({ length: to - from + 1 }, (_, index) => literal(from + index)).join(' | ')} )`;
    }
  }
  if (maximum === undefined && minimum === 0) return 'natural';
  if (maximum === undefined && minimum === 1) return '[1-9] [0-9]{0,15}';
  throw unsupported(`minimum and maximum other than 0, 1 or a range of ${MOST_LISTED_INTEGERS}`, where);
}

function typesOf(node: Schema, where: Where): readonly string[] {
  const { type } = node;
  if (typeof type === 'string') return [type];
  if (isTexts(type) && type.length > 0) return type;
  if (type !== undefined) throw new SchemaError(`"type" ${at(where)} must be a name or a list of names.`);
  return TYPES.filter((name) => KEYWORDS[name]?.some((keyword) => keyword in node)).slice(0, 1);
}

/** Throws the error that names the first keyword that is not among these. */
function only(node: Schema, keywords: readonly string[], where: Where): void {
  const other = Object.keys(node).find((name) => !keywords.includes(name) && !ANNOTATIONS.has(name));
  if (other !== undefined) throw unsupported(other, where);
}

function unsupported(keyword: string, where: Where): SchemaError {
  return new SchemaError(`"${keyword}" ${at(where)} cannot be enforced by the embedded engine.`);
}

function at(where: Where): string {
  return where.length === 0 ? 'at the top' : `at '${where.join('.')}'`;
}

function countOf(node: Schema, name: string, where: Where): number | null {
  const value = node[name];
  if (value === undefined) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST_REPETITIONS) return value;
  throw new SchemaError(`"${name}" ${at(where)} must be a whole number from 0 to ${MOST_REPETITIONS}.`);
}

function listOf(node: Schema, name: string, where: Where): readonly unknown[] {
  const value = node[name];
  if (Array.isArray(value) && value.length > 0) return value as readonly unknown[];
  throw new SchemaError(`"${name}" ${at(where)} must be a list with at least one element.`);
}

/** Follows a JSON pointer within the schema; undefined where it leads nowhere. */
function resolve(schema: unknown, reference: string): unknown {
  if (!/^#(?:\/|$)/u.test(reference)) return undefined;
  let found = schema;
  for (const part of reference.split('/').slice(1)) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, name) ? (found as Schema)[name] : undefined;
  }
  return found;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
