import { setImmediate as nextTurn } from 'node:timers/promises';
import { type BuildContext, buildEntry } from './build-entry.js';
import type { CatalogSources, LoadedCatalog } from './catalog.js';
import { CatalogSourceError } from './catalog-source-error.js';
import { commandLineSettings } from './command-line-settings.js';
import { findModels, type FoundModels } from './directory-source.js';
import type { CatalogEntry, CatalogNotice } from './entry.js';
import { ggufHeaders } from './gguf-header.js';
import { type CachedRepos, readCachedRepos } from './hf-cache/cached-repos.js';
import { LastGood } from './last-good.js';
import { layDrafts, type LaidDrafts, type LayRules } from './lay-drafts.js';
import { mapBounded } from './map-bounded.js';
import { type Presets, readPresetFile } from './preset-source.js';
import { quote } from './quote.js';
import { settleNames } from './settle-names.js';

const ENTRIES_AT_ONCE = 64;
/** Of the mistakes in a preset file; a sentence has an end. */
const FAULTS_SAID = 8;

/**
 * Reads the sources of models, again and again. The first time what is wrong with one section or file costs that section
 * or file; after that each source is taken as a whole or not at all: one that has faults which it did not have before may
 * be half-written, and stays as it was read last. `read` never rejects: what is wrong with a model is in its entry, with a
 * source in `errors`, with anything else in `notices`. One read at a time.
 */
export class CatalogReader {
  readonly #sources: CatalogSources;
  readonly #cache = new LastGood<CachedRepos>();
  readonly #directory = new LastGood<FoundModels>();
  readonly #presets = new LastGood<Presets>();
  /** What was wrong with the preset file when it was taken; said without lines, which move. */
  #knownFaults: ReadonlySet<string> = new Set();

  constructor(sources: CatalogSources) {
    this.#sources = sources;
  }

  async read(): Promise<LoadedCatalog> {
    const { hfCache = null, modelsDir, presetFile, options, sampleModels } = this.#sources;
    const errors: CatalogSourceError[] = [];
    const onError = (error: CatalogSourceError): void => void errors.push(error);
    const before = this.#presets.value;
    const [cache, directory, presets] = await Promise.all([
      this.#cache.read(hfCache, readCachedRepos, onError),
      this.#directory.read(modelsDir, findModels, onError),
      this.#presets.read(presetFile, (path) => readPresetFile(path, options), onError),
    ]);
    // Between the steps whose time grows with the number of models, requests and streams get their turn.
    await nextTurn();
    const commandLine = commandLineSettings(this.#sources.commandLine, options);
    const rules: LayRules = {
      needsModelFile: this.#sources.needsModelFile,
      launchBy: this.#sources.launchBy ?? 'repo',
      engine: this.#sources.engine ?? '',
      commandLine: commandLine.settings,
    };
    const contents = { sampleModels, cache, directory };
    const laid = layDrafts({ ...contents, presets }, rules);
    const fault = presets === before ? null : this.#newFault(presets, laid, before);
    if (fault !== null) onError(fault);
    const taken = fault === null ? presets : before;
    const final = fault === null ? laid : layDrafts({ ...contents, presets: taken }, rules);
    this.#cache.settle(cache);
    this.#directory.settle(directory);
    this.#presets.settle(taken);
    this.#knownFaults = new Set(faultsOf(taken, final).map(({ message }) => message));
    await nextTurn();
    const built = await mapBounded(final.drafts, ENTRIES_AT_ONCE, (draft): Promise<CatalogEntry> =>
      buildEntry(draft, this.#context()),
    );
    await nextTurn();
    const named = settleNames(built);
    return {
      entries: named.entries,
      notices: [
        ...commandLine.notices,
        ...(cache?.notices ?? []),
        ...(directory?.notices ?? []),
        ...(taken?.notices ?? []),
        ...final.notices,
        ...named.notices,
      ],
      errors,
    };
  }

  #context(): BuildContext {
    const { options, needsModelFile, defaults } = this.#sources;
    return { options, needsModelFile, defaults, headers: ggufHeaders };
  }

  /** What is wrong with the preset file now, and was not when it was last taken. */
  #newFault(presets: Presets | null, laid: LaidDrafts, before: Presets | null): CatalogSourceError | null {
    if (presets === null || before === null) return null;
    const { path } = presets;
    if (presets.isEmpty && !before.isEmpty) return keptAsItWas(path, `${quote(path)} is empty`);
    const faults = faultsOf(presets, laid).filter(({ message }) => !this.#knownFaults.has(message));
    if (faults.length === 0) return null;
    const said = faults.slice(0, FAULTS_SAID).map(({ line, message }) => `${path}:${line ?? 0}: ${message}`);
    const more = faults.length > FAULTS_SAID ? [`${faults.length - FAULTS_SAID} more`] : [];
    return keptAsItWas(path, [...said, ...more].join('; '));
  }
}

function faultsOf(presets: Presets | null, laid: LaidDrafts): readonly CatalogNotice[] {
  return [...(presets?.faults ?? []), ...laid.faults];
}

function keptAsItWas(path: string, what: string): CatalogSourceError {
  return new CatalogSourceError(path, `${what} — the presets stay as they were read last; correct the file`);
}
