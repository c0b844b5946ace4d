import type { OptionSpec } from './option-table.js';

/** `aliases` are separated by blanks; `variable` gets `LLAMA_ARG_` in front unless it begins with `=`. */
function option(name: string, aliases: string, variable: string): Omit<OptionSpec, 'takesValue' | 'negatable'> {
  const env = variable.startsWith('=') ? variable.slice(1) : `LLAMA_ARG_${variable}`;
  return { name, aliases: aliases.split(' ').filter((alias) => alias !== ''), env: variable === '' ? null : env };
}

/** `words`, separated by blanks: all that it takes; none: anything. */
export function value(name: string, aliases = '', variable = '', words = ''): OptionSpec {
  const spec: OptionSpec = { ...option(name, aliases, variable), takesValue: true, negatable: false };
  return words === '' ? spec : { ...spec, allowed: { numbers: false, words: words.split(' ') } };
}

/** `words`, separated by blanks: what it takes besides numbers. */
export function number(name: string, aliases = '', variable = '', words = ''): OptionSpec {
  const allowed = { numbers: true, words: words.split(' ').filter((word) => word !== '') };
  return { ...option(name, aliases, variable), takesValue: true, negatable: false, allowed };
}

export function flag(name: string, aliases = '', variable = ''): OptionSpec {
  return { ...option(name, aliases, variable), takesValue: false, negatable: false };
}

/** A flag with a `--no-` form; `negatedAliases` are further spellings of that form. */
export function onOff(name: string, aliases = '', variable = '', negatedAliases = ''): OptionSpec {
  const spec: OptionSpec = { ...option(name, aliases, variable), takesValue: false, negatable: true };
  return negatedAliases === '' ? spec : { ...spec, negatedAliases: negatedAliases.split(' ') };
}
