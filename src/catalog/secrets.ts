import type { ChildOption } from './entry.js';
import { findOption, type OptionTable } from './option-table.js';

/** By option and by variable: `hf-token`, `HF_TOKEN`, `api-key`; servers of tools have their keys in their descriptions. */
const SECRET = /(?:^|[-_])(?:token|password|secret|api[-_]key)$|^hft$|mcp[-_]servers[-_]json$/iu;

/** True for the name of an option, or its variable, whose value nobody else should read. */
export function isSecret(key: string): boolean {
  return SECRET.test(key);
}

export interface Handover {
  /** What a child is told in its arguments. */
  readonly options: readonly ChildOption[];
  /** What it is told in its environment: its arguments can be read by anybody on the machine. By variable. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** Takes the secrets out of a child's options. One that has no variable stays, since there is no other way to tell it. */
export function withoutSecrets(all: readonly ChildOption[], table: OptionTable): Handover {
  const secrets: Record<string, string> = {};
  const options = all.filter(({ name, value }) => {
    const variable = isSecret(name) ? findOption(table, name)?.spec.env : null;
    if (variable == null || typeof value !== 'string') return true;
    secrets[variable] = value;
    return false;
  });
  return { options, secrets };
}
