import { readFile, stat } from 'node:fs/promises';
import { CatalogSourceError, describeSystemError } from './catalog-source-error.js';
import type { CatalogNotice } from './entry.js';
import { type ModelSettings, NO_SETTINGS } from './model-settings.js';
import type { OptionTable } from './option-table.js';
import { DEFAULT_SECTION, type GrammarNotice, parsePresetText } from './preset-grammar.js';
import { FOR_ALL, readSection } from './preset-section.js';
import { canonicalTag } from './hf-cache/repo-files.js';
import { quote } from './quote.js';

/** A section that names a model. */
export interface PresetModel {
  readonly id: string;
  /** Line of its header, counted from 1. */
  readonly line: number;
  /** Without what `[*]` says. */
  readonly settings: ModelSettings;
}

export interface Presets {
  readonly path: string;
  /** What `[*]` says of all models, those of a models directory included. */
  readonly defaults: ModelSettings;
  /** In file order. */
  readonly models: readonly PresetModel[];
  /** In line order. */
  readonly notices: readonly CatalogNotice[];
  /** Not even a comment is in it. */
  readonly isEmpty: boolean;
  /** Those on which llama-server would not start, without what they cost: the file may be half-written. */
  readonly faults: readonly CatalogNotice[];
}

const LARGEST_FILE_BYTES = 8 * 1024 * 1024;

/**
 * Reads a preset file.
 * @throws CatalogSourceError when it cannot be read at all.
 */
export async function readPresetFile(path: string, table: OptionTable): Promise<Presets> {
  let text: string;
  try {
    // What is no regular file may be endless, or block whoever opens it.
    const stats = await stat(path);
    if (!stats.isFile()) throw new Error(stats.isDirectory() ? 'it is a directory' : 'it is not a regular file');
    if (stats.size > LARGEST_FILE_BYTES) throw new Error('it is larger than 8 MiB');
    text = await readFile(path, 'utf8');
    if (text.includes('\0')) throw new Error('it is no text, or not in UTF-8');
  } catch (error) {
    throw new CatalogSourceError(
      path,
      `cannot read the preset file ${quote(path)}: ${describeSystemError(error)}; give an existing INI file as --models-preset`,
      { cause: error },
    );
  }
  return readPresetText(path, text, table);
}

/** The same for text that has been read; `path` is only named in notices. Never throws. */
export function readPresetText(path: string, text: string, table: OptionTable): Presets {
  const { sections, notices: grammarNotices } = parsePresetText(text);
  const notices: GrammarNotice[] = [...grammarNotices];
  const models = new Map<string, PresetModel>();
  let defaults = NO_SETTINGS;
  // llama-server takes sections in the order of their bytes: of two names of one model the later one there counts.
  for (const section of sections.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
    const { settings, notices: own } = readSection(section, table);
    notices.push(...own);
    if (settings === null) continue;
    if (section.name === FOR_ALL) {
      defaults = settings;
      continue;
    }
    if (section.name === DEFAULT_SECTION && section.keys.every(({ key }) => key === 'version')) continue;
    const id = canonicalName(section.name);
    const { line } = section;
    if (id !== section.name)
      notices.push({ line, message: `section ${quote(section.name)} is the model ${quote(id)}: tags are in capitals` });
    const earlier = models.get(id);
    if (earlier !== undefined) {
      notices.push({
        line,
        message: `section ${quote(section.name)} names the model of line ${earlier.line} again and replaces it`,
      });
    }
    models.set(id, { id, line, settings });
  }
  const inOrder = notices.sort((left, right) => left.line - right.line);
  const located = (list: readonly GrammarNotice[]): CatalogNotice[] =>
    list.map(({ line, message }) => ({ path, line, message }));
  return {
    path,
    defaults,
    isEmpty: text.trim() === '',
    models: [...models.values()].sort((left, right) => left.line - right.line),
    notices: located(inOrder),
    faults: located(inOrder.flatMap(({ line, fault }) => (fault === undefined ? [] : { line, message: fault }))),
  };
}

/** `repo:tag` becomes `repo:TAG`, and `repo:UD-Q4_K_XL` becomes `repo:Q4_K_XL`: what counts is the quantisation. */
function canonicalName(name: string): string {
  const colon = name.lastIndexOf(':');
  return colon < 0 || name === DEFAULT_SECTION ? name : name.slice(0, colon + 1) + canonicalTag(name.slice(colon + 1));
}
