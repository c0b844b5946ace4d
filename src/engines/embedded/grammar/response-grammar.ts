import type { LlamaGrammar } from 'node-llama-cpp';
import type { GenerationFields } from '../http/generation-fields.js';
import { HttpError } from '../http/http-error.js';
import { JSON_OBJECT_GRAMMAR, SchemaError } from './json-grammar.js';
import { grammarForSchema } from './json-schema-grammar.js';
import { hasEndlessRepetition } from './repetitions.js';
import type { LoadedModel } from '../model/load-model.js';

const LONGEST_GRAMMAR_CHARS = 256 * 1024;
/** llama.cpp reads groups recursively: deeper ones could exhaust its stack. */
const DEEPEST_GROUP = 200;

/** A grammar (GBNF), and the field of the request that it comes from. */
export interface RequestGrammar {
  readonly text: string;
  readonly field: string;
}

/**
 * The grammar that an answer has to follow, or null for free text: `response_format`, or llama-server's
 * `json_schema` and `grammar`. Throws HttpError 400 for more than one of them, and for what cannot be enforced.
 */
export function readResponseGrammar(request: GenerationFields): RequestGrammar | null {
  const { response_format: format, json_schema: schema, grammar } = request;
  const asked = [format != null && format.type !== 'text', schema != null, grammar != null && grammar !== ''];
  if (asked.filter(Boolean).length > 1) {
    throw new HttpError(400, "Only one of 'response_format', 'json_schema' and 'grammar' can be given.");
  }
  if (schema != null) return fromSchema(schema, 'json_schema');
  if (grammar != null && grammar !== '') return checkGrammar(grammar);
  switch (format?.type) {
    case undefined:
    case 'text':
      return null;
    case 'json_object':
      return format.schema == null
        ? { text: JSON_OBJECT_GRAMMAR, field: 'response_format' }
        : fromSchema(format.schema, 'response_format.schema');
    case 'json_schema':
      return fromSchema(format.json_schema?.schema ?? null, 'response_format.json_schema.schema');
    default:
      throw new HttpError(400, "'response_format.type' must be text, json_object or json_schema.");
  }
}

/** Hands a grammar to llama.cpp. Throws HttpError 400 when it cannot be read. */
export async function compileGrammar({ model }: LoadedModel, { text, field }: RequestGrammar): Promise<LlamaGrammar> {
  try {
    if (hasEndlessRepetition(text)) throw new SchemaError('it repeats without end');
    return await model.llama.createGrammar({ grammar: text });
  } catch {
    // Of any other field it was written here.
    const isOwn = field === 'grammar';
    const why = isOwn ? "it must be GBNF with a rule 'root' and without left recursion" : 'it is too complex';
    throw new HttpError(400, `'${field}' cannot be read; ${why}.`);
  }
}

function fromSchema(schema: unknown, field: string): RequestGrammar {
  try {
    return { text: grammarForSchema(schema), field };
  } catch (error) {
    if (error instanceof SchemaError) throw new HttpError(400, `'${field}': ${error.message}`);
    throw error;
  }
}

function checkGrammar(grammar: string): RequestGrammar {
  if (grammar.length > LONGEST_GRAMMAR_CHARS) {
    throw new HttpError(400, `'grammar' is longer than ${LONGEST_GRAMMAR_CHARS} characters.`);
  }
  let depth = 0;
  for (const character of grammar) {
    if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    if (depth > DEEPEST_GROUP) throw new HttpError(400, `'grammar' nests groups more than ${DEEPEST_GROUP} deep.`);
  }
  return { text: grammar, field: 'grammar' };
}
