import type { Command } from 'commander';
import { visibleText } from '../../components/text/clean.js';
import { truthOf } from '../catalog/option-table.js';
import { UsageError } from './usage-error.js';

/**
 * Runs what reads flags. Where the value that a UsageError blames came from a variable, its sentence names that instead of
 * the flag, which nobody has given.
 */
export async function namingVariables<T>(command: Command, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(inVariables(command, error.message), { cause: error });
  }
}

function inVariables(command: Command, message: string): string {
  let said = message;
  for (const option of command.options) {
    const { long, envVar } = option;
    if (long == null || envVar === undefined || command.getOptionValueSource(option.attributeName()) !== 'env')
      continue;
    // A longer flag may begin like it.
    said = said.replaceAll(new RegExp(`${long}(?![\\w-])`, 'gu'), envVar);
  }
  return said;
}

/**
 * What a variable says of a flag that needs no value, by llama-server's rules: `LLAMA_ARG_NO_…`, set to anything, means no
 * and goes before the other. Null: it is not set, or to nothing. Throws UsageError for what is neither yes nor no.
 */
export function yesOrNoOf(
  variable: `LLAMA_ARG_${string}`,
  environment: NodeJS.ProcessEnv = process.env,
): boolean | null {
  if (environment[variable.replace('LLAMA_ARG_', 'LLAMA_ARG_NO_')] !== undefined) return false;
  const value = environment[variable] ?? '';
  if (value === '') return null;
  const truth = truthOf(value);
  if (truth !== null) return truth;
  const words = 'true, on, 1, enabled, false, off, 0 or disabled';
  throw new UsageError(`${variable} takes ${words}, not '${visibleText(value)}'.`);
}
