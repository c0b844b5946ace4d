import type { AllowedValues } from '../../catalog/option-value.js';

/** How llama.cpp's help calls values that are numbers. */
const IS_NUMBER = /^(?:N|P|L|SEED|INDEX|PORT|SECONDS|SIMILARITY|<0\|1>|<0\.\.\.100>)$/;

/** How it calls values that it explains one by one. */
const IS_KIND = /^(?:TYPE|MODE|FORMAT)$/;

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
  const words = list?.split(/[|,]\s*/) ?? (IS_KIND.test(placeholder) ? explainedWords(description) : []);
  return words.length === 0 ? undefined : { numbers: false, words };
}

/** `- none: leaves it unread - deepseek: reads it (default: auto)` */
function explainedWords(description: string): readonly string[] {
  const found = description.matchAll(/(?:^| )- ([a-z][\w+-]*):|\(default: ([a-z]+)\)/g);
  return [...new Set([...found].map(([, word, usual]) => word ?? usual ?? ''))];
}
