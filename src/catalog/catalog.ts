import type { Millis } from '../scheduler/units.js';
import { CatalogReader } from './catalog-reader.js';
import type { CatalogSourceError } from './catalog-source-error.js';
import type { Catalog, ChildOption } from './entry.js';
import type { LaunchBy } from './lay-drafts.js';
import type { OptionTable } from './option-table.js';

export interface CatalogSources {
  /** The cache of Hugging Face, which need not exist; null: it is not looked at. */
  readonly hfCache?: string | null;
  readonly modelsDir: string | null;
  readonly presetFile: string | null;
  /** Paths of GGUF files that have already been written. */
  readonly sampleModels: readonly string[];
  /** What the engine's child understands. */
  readonly options: OptionTable;
  /** The engine that the models run on; named in notices. */
  readonly engine?: string;
  /** Default: by repository, as llama-server does. */
  readonly launchBy?: LaunchBy;
  /** False for an engine that loads no file (`sim`). */
  readonly needsModelFile: boolean;
  /** Options for every child, from the router's command line. */
  readonly commandLine: readonly ChildOption[];
  /** For models whose preset says nothing. */
  readonly defaults: { readonly stopTimeoutMillis: Millis; readonly idleTimeoutMillis?: Millis };
}

export interface LoadedCatalog extends Catalog {
  /** Sources that could not be read. What the others hold is in the catalog all the same, and what these held before. */
  readonly errors: readonly CatalogSourceError[];
}

/** Reads every source once; see CatalogReader. */
export function loadCatalog(sources: CatalogSources): Promise<LoadedCatalog> {
  return new CatalogReader(sources).read();
}
