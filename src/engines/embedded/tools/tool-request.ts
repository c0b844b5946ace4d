import { isSchema, resolve } from '../grammar/schema-reading.js';
import type { Schema } from '../grammar/json-grammar.js';
import { HttpError } from '../http/http-error.js';
import type { ToolFields } from '../http/tool-fields.js';

/** A function that a request offers. */
export interface FunctionTool {
  readonly name: string;
  readonly description: string | null;
  /** All that the model is told of it, as JSON. */
  readonly text: string;
  /** As it was sent, for the model to read; null for a function without parameters. */
  readonly shown: Schema | null;
  /** What the arguments have to satisfy. */
  readonly parameters: Schema;
  /** Whether what cannot be enforced of them is refused; else the model is told, and not held to it. */
  readonly strict: boolean;
}

/** What a request says of functions. */
export interface ToolRequest {
  /** Those that the model is told of. */
  readonly shown: readonly FunctionTool[];
  /** Those that it may call. */
  readonly callable: readonly FunctionTool[];
  /** Whether the answer has to be a call. */
  readonly required: boolean;
  /** Whether it may be more than one. */
  readonly several: boolean;
}

/** Any text that no chat template reads as something else, longer than what OpenAI allows. */
const NAME = /^[\w./:-]{1,128}$/u;
/** References that lead to others; more than that lead nowhere. */
const LONGEST_CHAIN = 16;

/**
 * The functions of a request, or null where it offers none (`tool_choice` none counts as such, so that the model does
 * not even hear of them). Throws HttpError 400 with one sentence that names the field.
 */
export function readTools(fields: ToolFields): ToolRequest | null {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = fields;
  if ((fields.functions ?? []).length > 0 || (fields.function_call ?? 'none') !== 'none') {
    throw new HttpError(
      400,
      "'functions' and 'function_call' are OpenAI's old form; send 'tools' and 'tool_choice' instead.",
    );
  }
  const shown = (tools ?? []).map(({ function: { name, description, parameters, strict } }, index): FunctionTool => {
    const field = `'tools.${index}.function`;
    if (!NAME.test(name)) {
      throw new HttpError(400, `${field}.name': must be 1 to 128 letters, digits or any of _ - . : /.`);
    }
    const shown = parameters ?? null;
    const text = describe({ name, ...(description != null && { description }), parameters: shown ?? {} }, field);
    return {
      ...{ name, description: description ?? null, text, shown },
      ...{ parameters: objectSchema(shown, field), strict: strict ?? false },
    };
  });
  const twice = shown.find(({ name }, index) => shown.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) throw new HttpError(400, `'tools': two functions have the name '${twice.name}'.`);
  if (choice === 'none') return null;
  if (shown.length === 0) {
    if (choice == null || choice === 'auto') return null;
    throw new HttpError(400, "'tool_choice': there are no 'tools' to choose from.");
  }
  const several = parallel ?? true;
  if (choice == null || typeof choice === 'string') {
    return { shown, callable: shown, required: choice === 'required', several };
  }
  const { name } = choice.function;
  const named = shown.find((tool) => tool.name === name);
  if (named === undefined) throw new HttpError(400, `'tool_choice': there is no function '${name}' among the 'tools'.`);
  return { shown, callable: [named], required: true, several: false };
}

/** Throws HttpError 400 for a schema that is nested too deep to be written. */
function describe(tool: object, field: string): string {
  try {
    return JSON.stringify(tool);
  } catch {
    throw new HttpError(400, `${field}.parameters': is nested too deep.`);
  }
}

/** Arguments are an object always, and one without properties where none are named. */
function objectSchema(given: Schema | null, field: string): Schema {
  const schema = given ?? {};
  if (!isObject(schema, schema, 0)) throw new HttpError(400, `${field}.parameters': must describe an object.`);
  const { type, properties = {} } = schema;
  const combined = ['$ref', 'anyOf', 'oneOf', 'allOf'].some((name) => name in schema);
  if (combined || (type !== undefined && type !== 'object')) return schema;
  const empty = isSchema(properties) && Object.keys(properties).length === 0;
  return { ...(empty && { additionalProperties: false }), ...schema, type: 'object' };
}

/** Whether nothing but an object satisfies this part of a schema, or it names no type at all. */
function isObject(part: unknown, schema: Schema, steps: number): boolean {
  if (!isSchema(part) || steps > LONGEST_CHAIN) return false;
  if ('$ref' in part) return isObject(resolve(schema, String(part['$ref'])), schema, steps + 1);
  const options = part['anyOf'] ?? part['oneOf'] ?? part['allOf'];
  if (options !== undefined) {
    return Array.isArray(options) && options.every((option) => isObject(option, schema, steps + 1));
  }
  return !('enum' in part) && !('const' in part) && (part['type'] ?? 'object') === 'object';
}
