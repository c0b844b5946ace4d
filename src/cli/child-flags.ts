import type { ChildOption } from '../catalog/entry.js';
import { findOption, nearestOption, type OptionTable } from '../catalog/option-table.js';
import { isRouterOwned } from '../catalog/known-keys.js';
import { whyNotTaken } from '../catalog/option-value.js';
import { UsageError } from './usage-error.js';

/**
 * Flags that are not the router's are options of every child, as with llama-server. Throws UsageError on one that the
 * engine's children do not have either, or with a value on which they would not start.
 * @param routerFlags long names without dashes, for "did you mean"
 */
export function childFlags(
  leftover: readonly string[],
  table: OptionTable,
  engine: string,
  routerFlags: readonly string[],
): readonly ChildOption[] {
  const options: ChildOption[] = [];
  for (let i = 0; i < leftover.length; i += 1) {
    const word = leftover[i] ?? '';
    if (!/^--?[A-Za-z]/u.test(word))
      throw new UsageError(`'${word}' is neither a command nor a flag; see llm-tui --help.`);
    const [flag = '', ...inline] = word.split('=');
    const key = flag.replace(/^--?/u, '');
    const match = findOption(table, key);
    if (match === null) throw new UsageError(unknownFlag(flag, key, table, engine, routerFlags));
    const { name, aliases, takesValue } = match.spec;
    // What the router knows by a longer name must not go to the models instead.
    const ours = [name, ...aliases].find((spelling) => routerFlags.includes(spelling));
    if (ours !== undefined && !match.negated) throw new UsageError(`${flag} is not taken; write --${ours}.`);
    if (!takesValue) {
      options.push({ name, value: !match.negated });
      continue;
    }
    const value = inline.length > 0 ? inline.join('=') : leftover[(i += 1)];
    if (value === undefined) throw new UsageError(`${flag} needs a value.`);
    const why = whyNotTaken(value, match.spec.allowed);
    if (why !== null) throw new UsageError(`${flag} ${why}; no model would start with it.`);
    options.push({ name, value });
  }
  return options;
}

/**
 * Children read llama-server's variables too, before their flags. Throws UsageError for a value on which none would start.
 */
export function checkChildVariables(environment: NodeJS.ProcessEnv, table: OptionTable): void {
  for (const { env, allowed } of table) {
    const value = env === null || isRouterOwned(env) ? undefined : environment[env];
    const why = value === undefined ? null : whyNotTaken(value, allowed);
    if (why !== null) throw new UsageError(`${env ?? ''} ${why}; no model would start with it.`);
  }
}

function unknownFlag(
  flag: string,
  key: string,
  table: OptionTable,
  engine: string,
  routerFlags: readonly string[],
): string {
  const nearest = nearestOption(table, key, routerFlags);
  const hint = nearest === null ? 'see llm-tui --help' : `did you mean --${nearest}?`;
  return `${flag} is neither a flag of llm-tui nor an option of the ${engine} engine's models; ${hint}`;
}
