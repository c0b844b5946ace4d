import { distance } from 'fastest-levenshtein';
import type { AllowedValues, ValueForm } from './option-value.js';

/** One option that a child understands. */
export interface OptionSpec {
  /** Long name without dashes, e.g. `ctx-size`. */
  readonly name: string;
  /** Every other spelling without dashes, long or short, e.g. `c`. */
  readonly aliases: readonly string[];
  readonly takesValue: boolean;
  /** True when `--no-NAME` is understood. */
  readonly negatable: boolean;
  /** Environment variable, e.g. `LLAMA_ARG_CTX_SIZE`. */
  readonly env: string | null;
  /** Spellings besides `no-NAME` that turn the value round, without dashes, e.g. `nkvo`. */
  readonly negatedAliases?: readonly string[];
  /** Absent: it takes what it is given, as far as is known. */
  readonly allowed?: AllowedValues;
  /** What it takes where that is neither a number nor one of some words, e.g. `a size like 8GiB`. */
  readonly form?: ValueForm;
}

/** What an engine's child accepts; a preset key means what this table makes of it. */
export type OptionTable = readonly OptionSpec[];

/** How a key names an option. */
export interface OptionMatch {
  readonly spec: OptionSpec;
  /** True for `no-` forms: the value is turned round. */
  readonly negated: boolean;
  /** True for `LLAMA_ARG_NO_…`, which names the option but does not turn the value round. */
  readonly negativeVariable: boolean;
}

const indexes = new WeakMap<OptionTable, ReadonlyMap<string, OptionMatch>>();

/**
 * Finds the option that a key names: by long or short name without dashes, by `no-` form or by environment
 * variable; null when no option is called so. A table is indexed once, on its first use.
 */
export function findOption(table: OptionTable, key: string): OptionMatch | null {
  return indexOf(table).get(key) ?? null;
}

/** The name or variable that is spelled most like `key`, or null when none is near. */
export function nearestOption(table: OptionTable, key: string, others: readonly string[] = []): string | null {
  const names = [...indexOf(table).keys(), ...others].filter(
    (name) => name.length > 2 && !/^LLAMA_ARG_NO_/u.test(name),
  );
  const wanted = key.startsWith('LLAMA_') ? key : key.replaceAll('_', '-').toLowerCase();
  const farthest = Math.max(2, Math.floor(wanted.length / 3));
  const [best] = names
    .map((name) => ({ name, steps: stepsBetween(wanted, name) }))
    .filter(({ steps }) => steps <= farthest)
    .sort((left, right) => left.steps - right.steps);
  return best?.name ?? null;
}

/** Letters that have changed places are one mistake less: `prot` means `port`, and not `prio`. */
function stepsBetween(one: string, other: string): number {
  const letters = (word: string): string => Array.from(word).sort().join('');
  return distance(one, other) - (letters(one) === letters(other) ? 1 : 0);
}

/** What a flag's value says; null when it is none of llama-server's words for yes and no. */
export function truthOf(value: string): boolean | null {
  if (value === 'true' || value === 'on' || value === '1' || value === 'enabled') return true;
  if (value === 'false' || value === 'off' || value === '0' || value === 'disabled') return false;
  return null;
}

function indexOf(table: OptionTable): ReadonlyMap<string, OptionMatch> {
  const known = indexes.get(table);
  if (known !== undefined) return known;
  const index = new Map<string, OptionMatch>();
  const put = (key: string, match: OptionMatch): void => {
    if (!index.has(key)) index.set(key, match);
  };
  // Names come first: `no-host` and `no-mmproj` are options or spellings of their own, not forms of `host` or `mmproj`.
  for (const spec of table) {
    const plain: OptionMatch = { spec, negated: false, negativeVariable: false };
    put(spec.name, plain);
    for (const alias of spec.aliases) put(alias, plain);
    if (spec.env !== null) put(spec.env, plain);
  }
  for (const spec of table) {
    for (const alias of spec.negatedAliases ?? []) put(alias, { spec, negated: true, negativeVariable: false });
  }
  for (const spec of table) {
    if (!spec.negatable) continue;
    put(`no-${spec.name}`, { spec, negated: true, negativeVariable: false });
    if (spec.env?.startsWith('LLAMA_ARG_') === true) {
      const variable = spec.env.replace('LLAMA_ARG_', 'LLAMA_ARG_NO_');
      put(variable, { spec, negated: false, negativeVariable: true });
    }
  }
  indexes.set(table, index);
  return index;
}
