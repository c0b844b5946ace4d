import type { CatalogEntry } from '../catalog/entry.js';
import { nearestNames, resolveModel } from '../catalog/resolve.js';
import type { ModelId } from '../scheduler/units.js';

/** The models as last read; a reload replaces them all at once. */
export class ModelBook {
  #entries: readonly CatalogEntry[];
  #byId: ReadonlyMap<ModelId, CatalogEntry>;

  constructor(entries: readonly CatalogEntry[]) {
    this.#entries = entries;
    this.#byId = indexOf(entries);
  }

  replace(entries: readonly CatalogEntry[]): void {
    this.#entries = entries;
    this.#byId = indexOf(entries);
  }

  entries(): readonly CatalogEntry[] {
    return this.#entries;
  }

  entry(id: ModelId): CatalogEntry | null {
    return this.#byId.get(id) ?? null;
  }

  /** The entry with this id or alias. */
  resolve(name: string): CatalogEntry | null {
    return resolveModel(this.#entries, name);
  }

  /** Up to three names that are spelled most like this one. */
  nearest(name: string): readonly string[] {
    return nearestNames(this.#entries, name, 3);
  }
}

function indexOf(entries: readonly CatalogEntry[]): ReadonlyMap<ModelId, CatalogEntry> {
  return new Map(entries.map((entry) => [entry.id, entry]));
}
