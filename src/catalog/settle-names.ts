import type { CatalogEntry, CatalogNotice } from './entry.js';
import { quote } from './quote.js';

/** No key of plain data may be called so. */
const UNUSABLE_ID = '__proto__';

/**
 * Makes every name mean one model: an id always wins over an alias, and of two models with one alias the first keeps it.
 * llama-server does not start on such a clash.
 */
export function settleNames(entries: readonly CatalogEntry[]): {
  readonly entries: readonly CatalogEntry[];
  readonly notices: readonly CatalogNotice[];
} {
  const notices: CatalogNotice[] = [];
  const usable = entries.filter((entry) => {
    if (entry.id !== UNUSABLE_ID) return true;
    const { path, line } = entry.source;
    notices.push({ path, line, message: `model ${quote(entry.id)} is left out: this name cannot be used; rename it` });
    return false;
  });
  const owners = new Map(usable.map((entry) => [entry.id, entry.id]));
  const settled = usable.map((entry): CatalogEntry => {
    const aliases = entry.aliases.filter((alias) => {
      const owner = owners.get(alias);
      if (owner === undefined) {
        owners.set(alias, entry.id);
        return true;
      }
      if (owner !== entry.id) {
        const { path, line } = entry.source;
        const message = `alias ${quote(alias)} of ${quote(entry.id)} is left out: it already means ${quote(owner)}; choose another`;
        notices.push({ path, line, message });
      }
      return false;
    });
    return { ...entry, aliases };
  });
  return { entries: settled, notices };
}
