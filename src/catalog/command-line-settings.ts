import type { CatalogNotice, ChildOption } from './entry.js';
import { isOfPageTools, isPresetOnly, isRouterOwned, ONE_MODEL_OPTIONS } from './known-keys.js';
import type { ModelSettings } from './model-settings.js';
import { findOption, type OptionTable } from './option-table.js';
import { quote } from './quote.js';

const WHERE = 'command line';

/** Null: every child gets it. */
function whyNotForAll(name: string): string | null {
  if (ONE_MODEL_OPTIONS.includes(name)) return 'it is about one model; put it into a preset';
  if (isOfPageTools(name)) return "it is for the tools of llama-server's page, and this router has none";
  if (isPresetOnly(name)) return 'it stands in presets only';
  return isRouterOwned(name) ? "it is a router's, and says nothing to models" : null;
}

/** Options that the router's command line has for every child, by their long names. What is about one model is dropped. */
export function commandLineSettings(
  given: readonly ChildOption[],
  table: OptionTable,
): { readonly settings: ModelSettings; readonly notices: readonly CatalogNotice[] } {
  const options = new Map<string, ChildOption['value']>();
  const notices: CatalogNotice[] = [];
  for (const { name, value } of given) {
    const match = findOption(table, name);
    const canonical = match?.spec.name ?? name;
    const why = whyNotForAll(canonical);
    if (why !== null) {
      const message = `--${quote(canonical).slice(1, -1)} is ignored: ${why}`;
      notices.push({ path: WHERE, line: null, message });
      continue;
    }
    options.delete(canonical);
    options.set(canonical, match?.negated === true && typeof value === 'boolean' ? !value : value);
  }
  return { settings: { options }, notices };
}
