/** A JSON schema, or the part of one that is being read. */
export type Schema = Readonly<Record<string, unknown>>;
/** The names that lead to a part of a schema. */
export type Where = readonly string[];
/** Rules of a GBNF grammar by name. */
export type Rules = Map<string, string>;

/** What is wrong with a schema, or what of it cannot be enforced; one sentence. */
export class SchemaError extends Error {
  override readonly name: string = 'SchemaError';
}

/** A schema may well say this, but no grammar can. */
export class UnenforceableError extends SchemaError {
  override readonly name = 'UnenforceableError';
  readonly where: Where;
  /** Without these the rest of the schema can be enforced as far as here. */
  readonly keywords: readonly string[];

  constructor(message: string, where: Where, keywords: readonly string[]) {
    super(message);
    this.where = where;
    this.keywords = keywords;
  }
}

/**
 * JSON in llama.cpp's grammar notation (GBNF). White space and digits are bounded: a model that is in no mood to end
 * would otherwise write them until the context is full.
 */
export const COMMON_RULES: readonly (readonly [string, string])[] = [
  ['ws', String.raw`( " " | "\n" [ \t]{0,40} )?`],
  ['char', String.raw`[^"\\\x00-\x1F\x7F] | "\\" ( ["\\/bfnrt] | "u" [0-9a-fA-F]{4} )`],
  ['string', String.raw`"\"" char* "\""`],
  ['natural', '"0" | [1-9] [0-9]{0,15}'],
  ['integer', '"-"? natural'],
  ['number', 'integer ( "." [0-9]{1,16} )? ( [eE] [-+]? [0-9]{1,2} )?'],
  ['boolean', '"true" | "false"'],
  ['null', '"null"'],
  ['pair', 'string ":" ws value ws'],
  ['object', '"{" ws ( pair ( "," ws pair )* )? "}"'],
  ['array', '"[" ws ( value ws ( "," ws value ws )* )? "]"'],
  ['value', 'object | array | string | number | boolean | null'],
];

/** Any JSON object. */
export const JSON_OBJECT_GRAMMAR: string = writeGrammar(COMMON_RULES, 'object');

/** The rules as a grammar, with what the whole text has to be. */
export function writeGrammar(rules: Iterable<readonly [string, string]>, root: string): string {
  return [...rules, ['root', root] as const].map(([name, expression]) => `${name} ::= ${expression}`).join('\n');
}

/** Exactly this value, as JSON. GBNF and JSON escape quotes and backslashes alike. */
export function literal(value: unknown): string {
  return JSON.stringify(JSON.stringify(value));
}
