import type { CatalogEntry } from '../../src/catalog/entry.js';

/** An entry with nothing to it but its id and what a test is about. */
export function bareEntry(id: string, change: Partial<CatalogEntry> = {}): CatalogEntry {
  return {
    id,
    aliases: [],
    tags: [],
    source: { kind: 'preset', path: '/presets.ini', line: 1 },
    options: [],
    args: [],
    files: null,
    header: null,
    invalid: null,
    pin: false,
    priority: 0,
    loadOnStartup: false,
    idleTimeoutMillis: 0,
    stopTimeoutMillis: 10_000,
    contextTokens: null,
    ...change,
  };
}
