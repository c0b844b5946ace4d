import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Millis } from '../scheduler/units.js';
import { type BuildContext, buildEntry, type ModelDraft, namesModel, optionsOfFound } from './build-entry.js';
import { CatalogSourceError } from './catalog-source-error.js';
import { commandLineSettings } from './command-line-settings.js';
import { findModels, type FoundModels } from './directory-source.js';
import type { Catalog, CatalogEntry, CatalogNotice, ChildOption } from './entry.js';
import type { FoundModel } from './found-model.js';
import { ggufHeaders } from './gguf-header.js';
import { mapBounded } from './map-bounded.js';
import { layer, type ModelSettings, NO_SETTINGS } from './model-settings.js';
import type { OptionTable } from './option-table.js';
import { type PresetModel, type Presets, readPresetFile } from './preset-source.js';
import { quote } from './quote.js';
import { settleNames } from './settle-names.js';

export interface CatalogSources {
  readonly modelsDir: string | null;
  readonly presetFile: string | null;
  /** Paths of GGUF files that have already been written. */
  readonly sampleModels: readonly string[];
  /** What the engine's child understands. */
  readonly options: OptionTable;
  /** False for an engine that loads no file (`sim`). */
  readonly needsModelFile: boolean;
  /** Options for every child, from the router's command line. */
  readonly commandLine: readonly ChildOption[];
  readonly defaults: { readonly stopTimeoutMillis: Millis };
}

export interface LoadedCatalog extends Catalog {
  /** Sources that could not be read at all. What the others hold is in the catalog all the same. */
  readonly errors: readonly CatalogSourceError[];
}

const ENTRIES_AT_ONCE = 64;

/**
 * Reads every source and lays them over each other: samples, the models directory, then presets, of which a section
 * with the id of a model that was found is laid over it; for each model `[*]` below and the command line above.
 * Never rejects: what is wrong with a model is in its entry, with a source in `errors`, with anything else in `notices`.
 */
export async function loadCatalog(sources: CatalogSources): Promise<LoadedCatalog> {
  const errors: CatalogSourceError[] = [];
  const attempt = async <Result>(read: Promise<Result> | null): Promise<Result | null> => {
    try {
      return await read;
    } catch (error) {
      if (!(error instanceof CatalogSourceError)) throw error;
      errors.push(error);
      return null;
    }
  };
  const [directory, presets] = await Promise.all([
    attempt(sources.modelsDir === null ? null : findModels(sources.modelsDir)),
    attempt(sources.presetFile === null ? null : readPresetFile(sources.presetFile, sources.options)),
  ]);
  // Between the steps whose time grows with the number of models, requests and streams get their turn.
  await nextTurn();
  const commandLine = commandLineSettings(sources.commandLine, sources.options);
  const laid = layDrafts(sources, directory, presets, commandLine.settings);
  await nextTurn();
  const context: BuildContext = {
    options: sources.options,
    needsModelFile: sources.needsModelFile,
    stopTimeoutMillis: sources.defaults.stopTimeoutMillis,
    headers: ggufHeaders,
  };
  const built = await mapBounded(laid.drafts, ENTRIES_AT_ONCE, (draft): Promise<CatalogEntry> =>
    buildEntry(draft, context),
  );
  await nextTurn();
  const named = settleNames(built);
  return {
    entries: named.entries,
    notices: [
      ...commandLine.notices,
      ...(directory?.notices ?? []),
      ...(presets?.notices ?? []),
      ...laid.notices,
      ...named.notices,
    ],
    errors,
  };
}

function layDrafts(
  sources: CatalogSources,
  directory: FoundModels | null,
  presets: Presets | null,
  commandLine: ModelSettings,
): { readonly drafts: readonly ModelDraft[]; readonly notices: readonly CatalogNotice[] } {
  const notices: CatalogNotice[] = [];
  const drafts = new Map<string, ModelDraft>();
  const defaults = presets?.defaults ?? NO_SETTINGS;
  const found = [...sources.sampleModels.map(sampleModel), ...(directory?.models ?? [])];
  for (const model of found) {
    const settings = layer(defaults, optionsOfFound(model));
    drafts.set(model.id, { id: model.id, source: model.source, found: model, settings });
  }
  for (const model of presets?.models ?? []) {
    const path = presets?.path ?? '';
    const below = drafts.get(model.id) ?? draftCalled(drafts, model.id);
    const draft = layPreset(model, path, below, defaults);
    if (sources.needsModelFile && !namesModel(draft.settings)) {
      const message = `section ${quote(model.id)} is left out: it names no model; give it a model = PATH`;
      notices.push({ path, line: model.line, message });
      continue;
    }
    drafts.set(draft.id, draft);
  }
  const all = [...drafts.values()].map((draft) => ({ ...draft, settings: layer(draft.settings, commandLine) }));
  return { drafts: all, notices };
}

function layPreset(
  model: PresetModel,
  path: string,
  below: ModelDraft | undefined,
  defaults: ModelSettings,
): ModelDraft {
  const source = { kind: 'preset', path, line: model.line } as const;
  const settings = layer(below?.settings ?? defaults, model.settings);
  return { id: below?.id ?? model.id, source, found: below?.found ?? null, settings };
}

/** A set of shards has a name of ours and the one that llama-server gives it. */
function draftCalled(drafts: ReadonlyMap<string, ModelDraft>, name: string): ModelDraft | undefined {
  return [...drafts.values()].find(({ found }) => found?.otherNames.includes(name) === true);
}

function sampleModel(path: string): FoundModel {
  const source = { kind: 'sample', path, line: null } as const;
  const id = basename(path, '.gguf');
  return { id, otherNames: [], source, shards: [path], projector: null, draft: null, problem: null };
}
