import { enforceablePart } from '../grammar/enforceable-part.js';
import { COMMON_RULES, SchemaError, writeGrammar, type Rules } from '../grammar/json-grammar.js';
import { addSchemaRules } from '../grammar/json-schema-grammar.js';
import type { GenerationFields } from '../http/generation-fields.js';
import { HttpError } from '../http/http-error.js';
import type { CallFormat } from './call-format.js';
import type { CallPlan } from './call-plan.js';
import type { FunctionTool, ToolRequest } from './tool-request.js';

/** More in one answer come from a model that does not find the end. */
const MOST_CALLS = 32;

/**
 * A GBNF grammar for calls of functions from the name of the first one on, arguments as their schemas want them.
 * @param close what may come after the last call
 */
export function grammarForCalls(format: CallFormat, { callable, several }: ToolRequest, close: string): string {
  const rules: Rules = new Map(COMMON_RULES);
  const calls = callable.map((tool, index) => {
    const { name } = tool;
    const parameters = withName(tool, () => addSchemaRules(rules, tool.parameters, `f${index}a`));
    rules.set(
      `f${index}`,
      sequence([text(name + format.beforeArguments(name)), parameters, text(format.afterArguments(name))]),
    );
    return `f${index}`;
  });
  rules.set('call', calls.join(' | '));
  const more = several && format.between !== null ? `( ${text(format.between)} call ){0,${MOST_CALLS - 1}}` : '';
  return writeGrammar(rules, sequence(['call', more, close === '' ? '' : `( ${text(close)} )?`]));
}

/**
 * The request with parameters that can be enforced: of those that are not strict what a grammar can say. Throws HttpError
 * 400 for what cannot be, before any model is woken for it.
 */
export function enforceable(request: ToolRequest, { grammar }: GenerationFields): ToolRequest {
  if (grammar != null && grammar !== '') {
    throw new HttpError(400, "'grammar' and 'tools' cannot be given together; a call has a grammar of its own.");
  }
  const rules: Rules = new Map(COMMON_RULES);
  const callable = request.callable.map((tool, index) =>
    withName(tool, () => {
      const parameters = tool.strict ? tool.parameters : enforceablePart(tool.parameters);
      addSchemaRules(rules, parameters, `f${index}a`);
      return { ...tool, parameters };
    }),
  );
  return { ...request, callable };
}

/**
 * The grammar of an answer, which may be a call instead.
 * @param grammar as `writeGrammar` writes it
 * Throws HttpError 400 where calls and answers begin alike.
 */
export function allowCalls(grammar: string, { format, begun }: Pick<CallPlan, 'format' | 'begun'>): string {
  if (begun) return grammar;
  if (format.triggersAtStartOnly) {
    throw new HttpError(
      400,
      "'response_format' and 'tools' cannot be given together: this model writes calls as JSON without a mark; set 'tool_choice' to none or required.",
    );
  }
  return `${grammar.replace(/^root ::=/mu, 'answer ::=')}\nroot ::= answer | ${text(format.trigger)}`;
}

/** What is wrong with a schema is said of the function that it belongs to. */
function withName<T>({ name }: FunctionTool, use: () => T): T {
  try {
    return use();
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    throw new HttpError(400, `'tools': the parameters of '${name}': ${error.message}`);
  }
}

function text(value: string): string {
  return value === '' ? '' : JSON.stringify(value);
}

function sequence(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' ');
}
