import { COMMON_RULES, UnenforceableError, type Rules, type Schema, type Where } from './json-grammar.js';
import { addSchemaRules } from './json-schema-grammar.js';
import { resolve } from './schema-reading.js';

/** Keywords that are left out of one schema; each costs a walk through all of it. */
const MOST_LEFT_OUT = 100;

/**
 * The schema without what no grammar can say, as OpenAI reads one that is not strict: the model is told all of it, and
 * held to the rest. Throws SchemaError with one sentence for a schema that is wrong, or says too much of that kind.
 */
export function enforceablePart(schema: Schema): Schema {
  let part = schema;
  for (let leftOut = 0; ; leftOut += 1) {
    const rules: Rules = new Map(COMMON_RULES);
    try {
      addSchemaRules(rules, part, 'r');
      return part;
    } catch (error) {
      if (!(error instanceof UnenforceableError) || leftOut === MOST_LEFT_OUT) throw error;
      part = without(part, error);
    }
  }
}

function without(schema: Schema, { where, keywords }: UnenforceableError): Schema {
  const copy = structuredClone(schema);
  const node = nodeAt(copy, where);
  for (const keyword of keywords) Reflect.deleteProperty(node, keyword);
  return copy;
}

function nodeAt(schema: Schema, where: Where): object {
  let node: unknown = schema;
  for (const step of where) {
    const { [step]: next } = node as Schema;
    node = step === '$ref' ? resolve(schema, String(next)) : next;
  }
  return node as object;
}
