import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { loadCatalog } from '../../src/catalog/catalog.js';
import type { ChildOption } from '../../src/catalog/entry.js';
import { LLAMA_SERVER_OPTIONS } from '../../src/catalog/llama-server-options.js';
import { findOption, type OptionTable } from '../../src/catalog/option-table.js';
import { tinyGguf } from './tiny-gguf.js';

/** A preset file, or a models directory (and what else there is), of which a stock llama-server's answer is recorded. */
export interface CorpusCase {
  readonly name: string;
  /** Where the answer is kept. */
  readonly answerPath: string;
  readonly preset: string | null;
  readonly tree: TreeFixture | null;
}

/** Paths below the models directory, and below the cache of Hugging Face. */
interface TreeFixture {
  /** Each becomes a small model. */
  readonly files: readonly string[];
  /** Path of the link, and what it points to. */
  readonly links?: Readonly<Record<string, string>>;
  readonly cache?: readonly string[];
  /** Other files of the cache, with what is in them. */
  readonly texts?: Readonly<Record<string, string>>;
  readonly preset?: string;
}

/** One model as a router lists it. */
export interface ListedModel {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly tags: readonly string[];
  readonly source: string;
  /** What its child is started with, by long name, less what is the router's. */
  readonly options: Readonly<Record<string, ChildOption['value']>>;
}

export type StockAnswer =
  { readonly models: readonly ListedModel[] } | { /** Why it does not start. */ readonly refused: string };

export interface Laid {
  readonly presetFile: string | null;
  readonly modelsDir: string | null;
  readonly cache: string;
}

const FIXTURES = resolve(import.meta.dirname, '../fixtures');
/** Stands for the directory of the case in recorded answers. */
export const ROOT = '$ROOT';
const ROUTERS: readonly string[] = ['host', 'port', 'alias'];

/** Every case, in name order. */
export function corpus(): readonly CorpusCase[] {
  const read = (folder: string, ending: string): readonly string[] =>
    readdirSync(join(FIXTURES, folder))
      .filter((name) => name.endsWith(ending) && !name.endsWith('.stock.json'))
      .sort()
      .map((name) => join(FIXTURES, folder, name));
  const caseOf = (path: string, ending: string, more: Pick<CorpusCase, 'preset' | 'tree'>): CorpusCase => {
    const answerPath = `${path.slice(0, -ending.length)}.stock.json`;
    return { name: basename(path, ending), answerPath, ...more };
  };
  return [
    ...read('presets', '.ini').map((path) => caseOf(path, '.ini', { preset: readFileSync(path, 'utf8'), tree: null })),
    ...read('trees', '.json').map((path) => {
      const tree = JSON.parse(readFileSync(path, 'utf8')) as TreeFixture;
      return caseOf(path, '.json', { preset: tree.preset ?? null, tree });
    }),
  ];
}

/** Writes a case's files below `root`. */
export function layOut({ preset, tree }: CorpusCase, root: string): Laid {
  const model = tinyGguf();
  const put = (path: string, content: string | Buffer): string => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  };
  const [models, cache] = [join(root, 'models'), join(root, 'cache')];
  mkdirSync(cache, { recursive: true });
  if (tree !== null) mkdirSync(models, { recursive: true });
  for (const name of tree?.files ?? []) put(join(models, name), model);
  for (const [name, target] of Object.entries(tree?.links ?? {})) symlinkSync(target, join(models, name));
  for (const name of tree?.cache ?? []) put(join(cache, name), model);
  for (const [name, text] of Object.entries(tree?.texts ?? {})) put(join(cache, name), text);
  const presetFile = preset === null ? null : put(join(root, 'preset.ini'), preset);
  return { presetFile, modelsDir: tree === null ? null : models, cache };
}

/** What we make of a case, in the form of a recorded answer, and what we say about it. */
export async function ourAnswer(
  laid: Laid,
  root: string,
  options: OptionTable = LLAMA_SERVER_OPTIONS,
): Promise<{ readonly models: readonly ListedModel[]; readonly notices: readonly string[] }> {
  const { entries, notices, errors } = await loadCatalog({
    hfCache: laid.cache,
    modelsDir: laid.modelsDir,
    presetFile: laid.presetFile,
    sampleModels: [],
    options,
    needsModelFile: true,
    commandLine: [],
    defaults: { stopTimeoutMillis: 10_000 },
  });
  const models = entries.map(({ id, aliases, tags, source, options: given }) =>
    listed(
      { id, aliases, tags, source: source.kind === 'directory' ? 'models_dir' : source.kind, options: given },
      root,
    ),
  );
  return { models: models.sort(byId), notices: [...notices, ...errors].map(({ message }) => message) };
}

/** The same of a stock router's `GET /models`. */
export function stockModels(body: unknown, root: string, options: OptionTable): readonly ListedModel[] {
  const { data } = body as { data: (Omit<ListedModel, 'options'> & { status: { args: readonly string[] } })[] };
  return data
    .map(({ id, aliases, tags, source, status }) =>
      listed({ id, aliases, tags, source, options: optionsOf(status.args.slice(1), options) }, root),
    )
    .sort(byId);
}

function optionsOf(args: readonly string[], table: OptionTable): readonly ChildOption[] {
  const options: ChildOption[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const key = (args[i] ?? '').replace(/^--?/u, '');
    const match = findOption(table, key);
    if (match?.spec.takesValue === true) options.push({ name: match.spec.name, value: args[(i += 1)] ?? '' });
    else options.push({ name: match?.spec.name ?? key, value: match?.negated !== true });
  }
  return options;
}

function listed(
  model: Omit<ListedModel, 'options'> & { readonly options: readonly ChildOption[] },
  root: string,
): ListedModel {
  const options = model.options
    .filter(({ name }) => !ROUTERS.includes(name) && name !== 'tags')
    .map(({ name, value }) => [name, typeof value === 'string' ? value.replaceAll(root, ROOT) : value] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1));
  const { id, source } = model;
  return {
    id,
    aliases: model.aliases.toSorted(),
    tags: model.tags.toSorted(),
    source,
    options: Object.fromEntries(options),
  };
}

function byId(left: ListedModel, right: ListedModel): number {
  return left.id < right.id ? -1 : 1;
}
