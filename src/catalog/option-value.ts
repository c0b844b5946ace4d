import { quote } from './quote.js';

/** The values on which llama-server starts. */
export interface AllowedValues {
  readonly numbers: boolean;
  readonly words: readonly string[];
}

/** Values that are read in a way of their own. */
export interface ValueForm {
  /** To follow "takes". */
  readonly name: string;
  readonly fits: (value: string) => boolean;
}

/** Each of llama-server's words for one thing (`is_truthy`, `is_falsey` and `is_autoy` in its common/arg.cpp). */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  on: ['on', 'enabled', 'true', '1'],
  off: ['off', 'disabled', 'false', '0'],
  auto: ['auto', '-1'],
};

/** It reads a number from the beginning and forgets the rest (`std::stoi`, `std::stof`): `4096k` is 4096. */
const NUMBER_BEGINS = /^\s*[+-]?(?:\.?\d|inf|nan)/iu;

/** Why a child would not start with this value, to follow the name of the option; null: nothing is known against it. */
export function whyNotTaken(
  value: string,
  option: { readonly allowed?: AllowedValues; readonly form?: ValueForm } | undefined,
): string | null {
  if (option?.form?.fits(value) === false) return `takes ${option.form.name}, not ${quote(value)}`;
  const allowed = option?.allowed;
  if (allowed === undefined) return null;
  const { numbers, words } = allowed;
  if (numbers && NUMBER_BEGINS.test(value)) return null;
  if (words.some((word) => word === value || (!numbers && SYNONYMS[word]?.includes(value) === true))) return null;
  const all = [...(numbers ? ['a number'] : []), ...words];
  const last = all.pop() ?? '';
  return `takes ${all.length > 0 ? `${all.join(', ')} or ${last}` : last}, not ${quote(value)}`;
}
