import {
  COMMON_RULES,
  literal,
  SchemaError,
  writeGrammar,
  type Rules,
  type Schema,
  type Where,
} from './json-grammar.js';
import { integerRule, NUMBER_KEYWORDS, numberRule } from './json-number-rules.js';
import { defineStringRule, STRING_KEYWORDS } from './json-string-rules.js';
import { at, countOf, isSchema, isTexts, listOf, only, resolve, unsupported } from './schema-reading.js';

const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  string: STRING_KEYWORDS,
  number: NUMBER_KEYWORDS,
  integer: NUMBER_KEYWORDS,
  boolean: [],
  null: [],
  object: ['properties', 'required', 'additionalProperties', 'propertyNames'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems'],
};
const TYPES = Object.keys(KEYWORDS);
/** What stands between a schema and one within a value of it. */
const WITHIN: ReadonlySet<string> = new Set(['properties', 'additionalProperties', 'prefixItems', 'items']);
const MOST_RULES = 5000;
const DEEPEST = 64;

/** A GBNF grammar for one schema; see `addSchemaRules`. */
export function grammarForSchema(schema: unknown): string {
  const rules: Rules = new Map(COMMON_RULES);
  return writeGrammar(rules, addSchemaRules(rules, schema, 'r'));
}

/**
 * Adds rules whose every text is JSON that satisfies the schema, and returns the expression for the whole of it. They
 * may be narrower than the schema (properties come in the order in which they are named, and none that is not named
 * where some are), never wider: what cannot be expressed is refused. `oneOf` is read as `anyOf`.
 * @param prefix begins the names of the rules
 * Throws SchemaError with one sentence that names the keyword.
 */
export function addSchemaRules(rules: Rules, schema: unknown, prefix: string): string {
  const references = new Map<string, string>();
  /** References that are being followed, and how deep they stand. */
  const followed = new Map<string, number>();
  let created = 0;

  const define = (expression: string): string => {
    created += 1;
    if (rules.size > MOST_RULES) throw new SchemaError('The schema is too large.');
    const name = `${prefix}${created}`;
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
    if (known !== undefined) {
      const since = followed.get(reference);
      if (since === undefined || where.slice(since).some((part) => WITHIN.has(part))) return known;
      throw new SchemaError(`"$ref" ${at(where)} leads back to itself, with no value in between.`);
    }
    const target = resolve(schema, reference);
    if (target === undefined)
      throw new SchemaError(`"$ref" ${at(where)} points to '${reference}', which is not there.`);
    const name = define('');
    references.set(reference, name);
    followed.set(reference, where.length);
    rules.set(name, visit(target, [...where, '$ref']));
    followed.delete(reference);
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
        return defineStringRule(node, where);
      case 'integer':
        return integerRule(node, where);
      case 'object':
        return objectRule(node, where);
      case 'array':
        return arrayRule(node, where);
      case 'number':
        return numberRule(node, where);
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
    if (!allowsAnyName(node['propertyNames'])) throw unsupported('propertyNames', where);
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
    if (max !== null && max < min) throw new SchemaError(`"maxItems" ${at(where)} is below "minItems".`);
    if ('prefixItems' in node) {
      const items = listOf(node, 'prefixItems', where);
      if (min > items.length) throw unsupported('minItems above the number of prefixItems', where, ['minItems']);
      if (max !== null && max < items.length)
        throw unsupported('maxItems below the number of prefixItems', where, ['maxItems']);
      const parts = items.map((item, index) => visit(item, [...where, 'prefixItems', String(index)]));
      return `"[" ws ${parts.map((part) => `${part} ws`).join(' "," ws ')} "]"`;
    }
    if (max === 0 || node['items'] === false) return '"[" ws "]"';
    const item = define(`${visit(node['items'] ?? true, [...where, 'items'])} ws`);
    const more = `{${Math.max(0, min - 1)},${max === null ? '' : max - 1}}`;
    const filled = `${item} ( "," ws ${item} )${more}`;
    return min > 0 ? `"[" ws ${filled} "]"` : `"[" ws ( ${filled} )? "]"`;
  };

  return visit(schema, []);
}

function typesOf(node: Schema, where: Where): readonly string[] {
  const { type } = node;
  if (typeof type === 'string') return [type];
  if (isTexts(type) && type.length > 0) return type;
  if (type !== undefined) throw new SchemaError(`"type" ${at(where)} must be a name or a list of names.`);
  return TYPES.filter((name) => KEYWORDS[name]?.some((keyword) => keyword in node)).slice(0, 1);
}

/** Names are texts anyway; a schema that says just that comes with every record of some clients. */
function allowsAnyName(schema: unknown): boolean {
  if (schema === undefined || schema === true) return true;
  return isSchema(schema) && Object.entries(schema).every(([key, value]) => key === 'type' && value === 'string');
}
