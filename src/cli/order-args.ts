import type { Command } from 'commander';
import { UsageError } from './usage-error.js';

/**
 * The arguments with the command first: flags that were given before it count for it like those after it, and of a flag
 * given twice the later counts. Throws UsageError for a flag that the command does not take, which would be dropped.
 * @param args without node and script
 */
export function commandFirst(program: Command, args: readonly string[]): readonly string[] {
  if (args[0]?.startsWith('-') !== true) return args;
  const { at, flags } = leadingFlags(program, args);
  const command = program.commands.find((candidate) => candidate.name() === args[at ?? -1]);
  if (at === null || command === undefined) return args;
  for (const flag of flags) {
    if (!takes(program, command, flag)) {
      throw new UsageError(`${command.name()} takes no ${flag}; see llm-tui ${command.name()} --help.`);
    }
  }
  return [command.name(), ...args.slice(0, at), ...args.slice(at + 1)];
}

/** The flags before the first command, without their values, and where that command is; null where there is none. */
function leadingFlags(
  program: Command,
  args: readonly string[],
): { readonly at: number | null; readonly flags: readonly string[] } {
  const names = new Set(program.commands.map((command) => command.name()));
  const flags: string[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const word = args[i] ?? '';
    if (word === '--') break;
    if (!word.startsWith('-')) return { at: names.has(word) ? i : null, flags };
    const [flag = '', ...inline] = word.split('=');
    flags.push(flag);
    if (inline.length > 0) continue;
    const option = optionOf(program, flag);
    const next = args[i + 1];
    // A flag that is not the router's may have a value; a command's name is none.
    const mayHaveValue = (option === null && !isAsked(flag)) || option?.optional === true;
    const isValue = next !== undefined && !next.startsWith('-') && !names.has(next);
    if (option?.required === true || (mayHaveValue && isValue)) i += 1;
  }
  return { at: null, flags };
}

function takes(program: Command, command: Command, flag: string): boolean {
  if (isAsked(flag) || optionOf(command, flag) !== null) return true;
  // What is neither the router's nor the screen's is the models'; these commands pass it on.
  return optionOf(program, flag) === null && ['serve', 'measure'].includes(command.name());
}

/** Help and version are the program's own. */
function isAsked(flag: string): boolean {
  return ['-h', '--help', '-V', '--version'].includes(flag);
}

function optionOf(command: Command, flag: string): Command['options'][number] | null {
  return command.options.find(({ long, short }) => long === flag || short === flag) ?? null;
}
