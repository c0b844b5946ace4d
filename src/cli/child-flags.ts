import type { Command } from 'commander';
import type { ChildOption } from '../catalog/entry.js';
import { findOption, nearestOption, type OptionTable } from '../catalog/option-table.js';
import { isRouterOwned } from '../catalog/known-keys.js';
import { whyNotTaken } from '../catalog/option-value.js';
import { UsageError } from './usage-error.js';

/** What the program has itself, for "did you mean". */
export interface OurWords {
  /** Long names without dashes. */
  readonly flags: readonly string[];
  readonly commands: readonly string[];
}

/** Those of the program that the command belongs to. */
export function ourWords(command: Command): OurWords {
  const commands = (command.parent ?? command).commands.map((other) => other.name());
  return { flags: command.options.map((option) => option.long?.replace(/^--/u, '') ?? ''), commands };
}

/** Throws UsageError for a word before all flags that are not the router's: it can be no flag's value, whatever the engine. */
export function refuseWords([word]: readonly string[], { commands }: OurWords): void {
  if (word === undefined || isFlag(word)) return;
  const nearest = nearestOption([], word, commands);
  const hint = nearest === null ? 'see llm-tui --help.' : `did you mean llm-tui ${nearest}?`;
  throw new UsageError(`'${word}' is neither a command nor a flag; ${hint}`);
}

function isFlag(word: string): boolean {
  return /^--?[A-Za-z]/u.test(word);
}

/**
 * Flags that are not the router's are options of every child, as with llama-server. Throws UsageError on one that the
 * engine's children do not have either, or with a value on which they would not start.
 */
export function childFlags(
  leftover: readonly string[],
  table: OptionTable,
  engine: string,
  ours: OurWords = { flags: [], commands: [] },
): readonly ChildOption[] {
  const options: ChildOption[] = [];
  for (let i = 0; i < leftover.length; i += 1) {
    const word = leftover[i] ?? '';
    refuseWords([word], ours);
    const [flag = '', ...inline] = word.split('=');
    const key = flag.replace(/^--?/u, '');
    const match = findOption(table, key);
    if (match === null) throw new UsageError(unknownFlag(flag, key, table, engine, ours.flags));
    const { name, aliases, takesValue } = match.spec;
    // What the router knows by a longer name must not go to the models instead.
    const ownName = [name, ...aliases].find((spelling) => ours.flags.includes(spelling));
    if (ownName !== undefined && !match.negated) throw new UsageError(`${flag} is not taken; write --${ownName}.`);
    if (!takesValue) {
      options.push({ name, value: !match.negated });
      continue;
    }
    const value = inline.length > 0 ? inline.join('=') : leftover[(i += 1)];
    if (value === undefined) throw new UsageError(`${flag} needs a value.`);
    const why = whyNotTaken(value, match.spec);
    if (why !== null) throw new UsageError(`${flag} ${why}; no model would start with it.`);
    options.push({ name, value });
  }
  return options;
}

/**
 * Children read llama-server's variables too, before their flags. Throws UsageError for a value on which none would start.
 */
export function checkChildVariables(environment: NodeJS.ProcessEnv, table: OptionTable): void {
  for (const option of table) {
    const { env } = option;
    const value = env === null || isRouterOwned(env) ? undefined : environment[env];
    const why = value === undefined ? null : whyNotTaken(value, option);
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
