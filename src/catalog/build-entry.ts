import type { Millis } from '../scheduler/units.js';
import type { CatalogEntry, ChildOption, EntrySource } from './entry.js';
import type { FoundModel } from './found-model.js';
import type { LaunchBy } from './lay-drafts.js';
import type { HeaderReader } from './gguf-header.js';
import { MODEL_OPTIONS } from './known-keys.js';
import { findShards, inspectFiles, type ModelPaths } from './model-files.js';
import { commaList, type ModelSettings } from './model-settings.js';
import { findOption, type OptionTable } from './option-table.js';
import { whyNotTaken } from './option-value.js';
import { withoutSecrets } from './secrets.js';

/** One model with all that is said of it, every source laid over the one before. */
export interface ModelDraft {
  readonly id: string;
  readonly source: EntrySource;
  readonly found: FoundModel | null;
  readonly settings: ModelSettings;
}

export interface BuildContext {
  readonly options: OptionTable;
  readonly needsModelFile: boolean;
  readonly defaults: { readonly stopTimeoutMillis: Millis; readonly idleTimeoutMillis?: Millis };
  readonly headers: HeaderReader;
}

/** Options that the entry shows in fields of its own; the router gives a child its alias. */
const OWN_FIELDS: readonly string[] = ['alias', 'tags'];

/** True when the child would know what to load. */
export function namesModel(settings: ModelSettings): boolean {
  return MODEL_OPTIONS.some((name) => textOf(settings, name) !== null);
}

function fetchesModel(settings: ModelSettings): boolean {
  return MODEL_OPTIONS.some((name) => name !== 'model' && textOf(settings, name) !== null);
}

/** The options by which a child loads what a directory or the cache holds. */
export function optionsOfFound(found: FoundModel, launchBy: LaunchBy): ModelSettings {
  if (found.source.kind === 'cache' && launchBy === 'repo') return { options: new Map([['hf-repo', found.id]]) };
  const options = new Map<string, string>([['model', found.shards[0] ?? found.source.path]]);
  if (found.projector !== null) options.set('mmproj', found.projector);
  if (found.draft !== null) options.set('model-draft', found.draft);
  return { options };
}

/** Looks at the model's files and makes its entry. Never rejects: a fault makes the entry invalid. */
export async function buildEntry(draft: ModelDraft, context: BuildContext): Promise<CatalogEntry> {
  const { settings, found } = draft;
  const { paths, problem } = await pathsOf(settings, found);
  const look = paths === null ? null : await inspectFiles(paths, context.headers);
  const { options, secrets } = withoutSecrets(childOptions(settings, context.options), context.options);
  // A child that fetches its model makes the file itself.
  const absentIsFine = !context.needsModelFile || (fetchesModel(settings) && look?.files === null);
  const invalid = whyRefused(options, context.options) ?? (absentIsFine ? null : (problem ?? look?.problem ?? null));
  const ctxSize = Number(textOf(settings, 'ctx-size') ?? 0);
  return {
    id: draft.id,
    aliases: [...new Set([...(found?.otherNames ?? []), ...commaList(settings.options.get('alias'))])],
    tags: commaList(settings.options.get('tags')),
    source: draft.source,
    options,
    args: renderArgs(options),
    ...(Object.keys(secrets).length === 0 ? {} : { secrets }),
    files: look?.files ?? null,
    header: look?.header ?? null,
    invalid,
    pin: settings.pin ?? false,
    priority: settings.priority ?? 0,
    loadOnStartup: settings.loadOnStartup ?? false,
    idleTimeoutMillis: settings.idleTimeoutMillis ?? context.defaults.idleTimeoutMillis ?? 0,
    stopTimeoutMillis: settings.stopTimeoutMillis ?? context.defaults.stopTimeoutMillis,
    ...(settings.loadTimeoutMillis === undefined ? {} : { loadTimeoutMillis: settings.loadTimeoutMillis }),
    contextTokens: Number.isSafeInteger(ctxSize) && ctxSize > 0 ? ctxSize : null,
  };
}

/** The argument list of options: `['--model', '/m/a.gguf', '--no-mmap']`. */
export function renderArgs(options: readonly ChildOption[]): string[] {
  return options.flatMap(({ name, value }) => {
    if (value === true) return [`--${name}`];
    return value === false ? [`--no-${name}`] : [`--${name}`, value];
  });
}

/** The model comes first; a flag that is off and cannot be said to be off is left out, as llama-server leaves it out. */
function childOptions({ options }: ModelSettings, table: OptionTable): ChildOption[] {
  const all = [...options].filter(([name]) => !OWN_FIELDS.includes(name));
  const said = all.filter(([name, value]) => value !== false || findOption(table, name)?.spec.negatable === true);
  const [model, rest] = [said.filter(([name]) => name === 'model'), said.filter(([name]) => name !== 'model')];
  return [...model, ...rest].map(([name, value]) => ({ name, value }));
}

/** The first option whose value no child would start with; null: none is known. */
function whyRefused(options: readonly ChildOption[], table: OptionTable): string | null {
  for (const { name, value } of options) {
    const why = typeof value === 'string' ? whyNotTaken(value, findOption(table, name)?.spec) : null;
    if (why !== null) return `its option --${name} ${why}`;
  }
  return null;
}

async function pathsOf(
  settings: ModelSettings,
  found: FoundModel | null,
): Promise<{ readonly paths: ModelPaths | null; readonly problem: string | null }> {
  const model = textOf(settings, 'model');
  if (model === null) return pathsInCache(settings, found);
  const projector = textOf(settings, 'mmproj');
  const draft = textOf(settings, 'model-draft');
  if (found !== null && found.shards[0] === model) {
    return { paths: { shards: found.shards, projector, draft }, problem: found.problem };
  }
  const { shards, problem } = await findShards(model);
  return { paths: { shards, projector, draft }, problem };
}

/** A model that the child finds by its repository: the files that it will find, when they are there. */
function pathsInCache(
  settings: ModelSettings,
  found: FoundModel | null,
): { readonly paths: ModelPaths | null; readonly problem: string | null } {
  if (found?.source.kind !== 'cache') return { paths: null, problem: null };
  const withProjector = settings.options.get('mmproj-auto') !== false;
  const projector = textOf(settings, 'mmproj') ?? (withProjector ? found.projector : null);
  const paths = { shards: found.shards, projector, draft: textOf(settings, 'model-draft') };
  return { paths, problem: found.problem };
}

function textOf({ options }: ModelSettings, name: string): string | null {
  const value = options.get(name);
  return typeof value === 'string' && value !== '' ? value : null;
}
