import type { AllowedValues } from '../../catalog/option-value.js';

/** How llama.cpp's help calls values that are numbers. */
const IS_NUMBER = /^(?:N|P|L|SEED|INDEX|PORT|SECONDS|SIMILARITY|<0\|1>|<0\.\.\.100>)$/;

/**
 * What an option's help says about its values; undefined where it says nothing that can be relied on.
 * @param placeholder what stands behind the option's names, e.g. `N` or `[on|off|auto]`
 * @param description the rest of its help
 */
export function readAllowedValues(placeholder: string, description: string): AllowedValues | undefined {
  // What counts for nothing any more is taken whatever it says.
  if (description.includes('DEPRECATED')) return undefined;
  if (IS_NUMBER.test(placeholder)) {
    const words = [...description.matchAll(/'([a-z]+)'/g)].map(([, word = '']) => word);
    return { numbers: true, words: [...new Set(words)] };
  }
  const list =
    /^\[([a-z]+(?:\|[a-z]+)+)\]$/.exec(placeholder)?.[1] ??
    /^\{([a-z]+(?:,[a-z]+)+)\}$/.exec(placeholder)?.[1] ??
    /\ballowed values: (\w+(?:, \w+)+)/.exec(description)?.[1];
  return list === undefined ? undefined : { numbers: false, words: list.split(/[|,]\s*/) };
}
