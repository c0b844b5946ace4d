import { basename } from 'node:path';
import { type ModelDraft, namesModel, optionsOfFound } from './build-entry.js';
import type { FoundModels } from './directory-source.js';
import type { CatalogNotice, ChildOption } from './entry.js';
import type { FoundModel } from './found-model.js';
import { findInCache, modelsInCache } from './hf-cache/cache-source.js';
import type { CachedRepos } from './hf-cache/cached-repos.js';
import { layer, type ModelSettings, NO_SETTINGS } from './model-settings.js';
import type { PresetModel, Presets } from './preset-source.js';
import { quote } from './quote.js';

/** How a child is told of a model in the cache: by its repository, or, where it knows none, by its file. */
export type LaunchBy = 'repo' | 'file';

/** What the sources hold; a source that is not there, or could not be read, is null. */
export interface SourceContents {
  readonly sampleModels: readonly string[];
  readonly cache: CachedRepos | null;
  readonly directory: FoundModels | null;
  readonly presets: Presets | null;
}

export interface LayRules {
  readonly needsModelFile: boolean;
  readonly launchBy: LaunchBy;
  /** The engine that all models run on. */
  readonly engine: string;
  /** What the router's command line says of every model. */
  readonly commandLine: ModelSettings;
}

export interface LaidDrafts {
  readonly drafts: readonly ModelDraft[];
  readonly notices: readonly CatalogNotice[];
  /** Sections without a model, on which llama-server would not start; they are in no draft. */
  readonly faults: readonly CatalogNotice[];
}

/**
 * Lays the sources over each other, later ones over earlier ones: samples, cache, models directory, presets, of which a
 * section with the id of a model that was found is laid over it; for each model `[*]` below and the command line above.
 */
export function layDrafts(contents: SourceContents, rules: LayRules): LaidDrafts {
  const { cache, directory, presets } = contents;
  const notices: CatalogNotice[] = [];
  const faults: CatalogNotice[] = [];
  const drafts = new Map<string, ModelDraft>();
  const defaults = presets?.defaults ?? NO_SETTINGS;
  const cached = rules.needsModelFile ? modelsInCache(cache?.repos ?? []) : [];
  for (const model of [...contents.sampleModels.map(sampleModel), ...cached, ...(directory?.models ?? [])]) {
    const settings = layer(defaults, optionsOfFound(model, rules.launchBy));
    drafts.set(model.id, { id: model.id, source: model.source, found: model, settings });
  }
  for (const model of presets?.models ?? []) {
    const path = presets?.path ?? '';
    const below = drafts.get(model.id) ?? draftCalled(drafts, model.id);
    const draft = withCachedFile(layPreset(model, path, below, defaults), contents, rules);
    if (rules.needsModelFile && !namesModel(draft.settings)) {
      const [section, why] = [`section ${quote(model.id)}`, 'names no model; give it a model = PATH'];
      notices.push({ path, line: model.line, message: `${section} is left out: it ${why}` });
      faults.push({ path, line: model.line, message: `${section} ${why}` });
      continue;
    }
    drafts.set(draft.id, draft);
  }
  notices.push(...sayEngines([...drafts.values()], presets?.path ?? '', rules.engine));
  const shown = [...drafts.values()].filter((draft) => !isHidden(draft, drafts, cache));
  const all = shown.map((draft) => ({ ...draft, settings: layer(draft.settings, rules.commandLine) }));
  return { drafts: all, notices, faults };
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

/** What a section's `hf-repo` means in the cache; a child that knows no repositories gets the file. */
function withCachedFile(draft: ModelDraft, { cache }: SourceContents, { launchBy }: LayRules): ModelDraft {
  const found = draft.found ?? foundByRepo(draft.settings, cache);
  if (found?.source.kind !== 'cache' || launchBy === 'repo' || draft.settings.options.has('model')) {
    return { ...draft, found };
  }
  const rest = [...draft.settings.options].filter(([name]) => name !== 'hf-repo' && name !== 'hf-file');
  const options = new Map([...rest, ...optionsOfFound(found, 'file').options]);
  return { ...draft, found, settings: { ...draft.settings, options } };
}

function foundByRepo({ options }: ModelSettings, cache: CachedRepos | null): FoundModel | null {
  const repo = textOf(options.get('hf-repo'));
  return repo === null || cache === null ? null : findInCache(cache.repos, repo, textOf(options.get('hf-file')));
}

function textOf(value: ChildOption['value'] | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A set of shards has a name of ours and the one that llama-server gives it. */
function draftCalled(drafts: ReadonlyMap<string, ModelDraft>, name: string): ModelDraft | undefined {
  return [...drafts.values()].find(({ found }) => found?.otherNames.includes(name) === true);
}

/** A model of the cache alone, whose file a preset with `dedup-cache-models` loads by its `hf-repo`. */
function isHidden(draft: ModelDraft, drafts: ReadonlyMap<string, ModelDraft>, cache: CachedRepos | null): boolean {
  if (draft.source.kind !== 'cache') return false;
  return [...drafts.values()].some(({ source, settings, found }) => {
    if (source.kind !== 'preset' || settings.dedupCacheModels !== true) return false;
    const file = found?.source.kind === 'cache' ? found : foundByRepo(settings, cache);
    return file?.shards[0] !== undefined && file.shards[0] === draft.found?.shards[0];
  });
}

/** Engines side by side are not there yet; asking for one is never passed over in silence. */
function sayEngines(drafts: readonly ModelDraft[], path: string, engine: string): CatalogNotice[] {
  const asked = drafts.flatMap(({ settings }) => settings.engine ?? []);
  const unmet = new Map(asked.filter(({ name }) => name !== 'auto' && name !== engine).map((one) => [one.line, one]));
  return [...unmet.values()].map(({ name, line }) => ({
    path,
    line,
    message: `engine = ${name} is not supported yet beside another engine: all models run on ${engine}, the one of --engine`,
  }));
}

function sampleModel(path: string): FoundModel {
  const source = { kind: 'sample', path, line: null } as const;
  const id = basename(path, '.gguf');
  return { id, otherNames: [], source, shards: [path], projector: null, draft: null, problem: null };
}
