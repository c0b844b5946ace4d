import { basename, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CatalogSourceError, describeSystemError } from './catalog-source-error.js';
import { type Listing, listDirectory } from './directory-listing.js';
import type { CatalogNotice } from './entry.js';
import type { FoundModel } from './found-model.js';
import { mapBounded } from './map-bounded.js';
import { quote } from './quote.js';
import { describeMissing, groupShards, type ShardSet } from './shards.js';

export interface FoundModels {
  /** In name order. */
  readonly models: readonly FoundModel[];
  readonly notices: readonly CatalogNotice[];
}

const DIRECTORIES_AT_ONCE = 16;
/** llama.cpp's prefixes for draft models, in small letters only: `MTP` in the name of a whole model is no draft. */
const DRAFT = /^(?:mtp|dspark|dflash|eagle3)-/u;

/** A candidate for the role of the model: one file, or a set of shards. */
interface Candidate {
  /** What is compared with the name of the directory. */
  readonly stem: string;
  /** Name of the file that a child would be started with. */
  readonly first: string;
  readonly set: ShardSet | null;
}

/**
 * Finds the models in `directory`: each `.gguf` file, each set of shards, each subdirectory. Nothing is opened.
 * @throws CatalogSourceError when the directory cannot be read at all.
 */
export async function findModels(directory: string): Promise<FoundModels> {
  let listing: Listing;
  try {
    listing = await listDirectory(directory);
  } catch (error) {
    throw new CatalogSourceError(
      directory,
      `cannot read the models directory ${quote(directory)}: ${describeSystemError(error)}; give an existing directory as --models-dir`,
      { cause: error },
    );
  }
  await nextTurn();
  const notices = [...listing.notices];
  const top = modelsAtTop(directory, listing.models, notices);
  const below = await mapBounded(listing.directories, DIRECTORIES_AT_ONCE, (name) => modelBelow(join(directory, name)));
  const models = new Map<string, FoundModel>();
  for (const found of below) {
    notices.push(...found.notices);
    for (const model of found.models) models.set(model.id, model);
  }
  for (const model of top) {
    const rival = models.get(model.id);
    if (rival === undefined) models.set(model.id, model);
    else
      say(notices, model.source.path, `is left out: the directory ${quote(rival.source.path)} has the same model id`);
  }
  return { models: [...models.values()].sort((left, right) => (left.id < right.id ? -1 : 1)), notices };
}

function modelsAtTop(directory: string, names: readonly string[], notices: CatalogNotice[]): FoundModel[] {
  const companions = names.filter((name) => isProjector(name) || DRAFT.test(name));
  for (const name of companions) {
    const what = isProjector(name) ? 'projector' : 'draft';
    say(notices, join(directory, name), `is skipped: a ${what} belongs into a subdirectory, beside its model`);
  }
  const { sets, single } = groupShards(names.filter((name) => !isProjector(name) && !DRAFT.test(name)));
  const singles = single.map((name) =>
    foundAt(directory, stemOf(name), { stem: stemOf(name), first: name, set: null }),
  );
  const sameName = new Map(single.map((name) => [stemOf(name), 1]));
  for (const { prefix } of sets) sameName.set(prefix, (sameName.get(prefix) ?? 0) + 1);
  const sharded = sets.map((set) => {
    const candidate = candidateOf(set);
    const fullStem = stemOf(candidate.first);
    if ((sameName.get(set.prefix) ?? 0) > 1) {
      return foundAt(directory, fullStem, candidate);
    }
    // llama-server calls it by the stem of its first file.
    return { ...foundAt(directory, set.prefix, candidate), otherNames: [fullStem] };
  });
  return [...singles, ...sharded];
}

function foundAt(directory: string, id: string, candidate: Candidate): FoundModel {
  const { shards, problem } = filesOf(directory, candidate);
  const source = { kind: 'directory', path: join(directory, candidate.first), line: null } as const;
  return { id, otherNames: [], source, shards, projector: null, draft: null, problem };
}

/** A subdirectory is one model, or none. */
async function modelBelow(directory: string): Promise<FoundModels> {
  let listing: Listing;
  try {
    listing = await listDirectory(directory);
  } catch (error) {
    return {
      models: [],
      notices: [{ path: directory, line: null, message: `is skipped: ${describeSystemError(error)}` }],
    };
  }
  const notices = [...listing.notices];
  const id = basename(directory);
  const projectors = listing.models.filter(isProjector);
  const drafts = listing.models.filter((name) => !isProjector(name) && DRAFT.test(name));
  const { sets, single } = groupShards(listing.models.filter((name) => !isProjector(name) && !DRAFT.test(name)));
  const candidates = [
    ...sets.map(candidateOf),
    ...single.map((name) => ({ stem: stemOf(name), first: name, set: null })),
  ];
  const chosen = choose(directory, 'model', id, candidates, notices);
  if (chosen === null) {
    if (projectors.length + drafts.length > 0) {
      say(notices, directory, 'is skipped: it holds a projector or a draft, but no model');
    }
    return { models: [], notices };
  }
  const named = (role: string, names: readonly string[]): string | null => {
    const list = names.map((name) => ({ stem: stemOf(name), first: name, set: null }));
    const one = choose(directory, role, id, list, notices);
    return one === null ? null : join(directory, one.first);
  };
  const model: FoundModel = {
    id,
    otherNames: [],
    source: { kind: 'directory', path: directory, line: null },
    ...filesOf(directory, chosen),
    projector: named('projector', projectors),
    draft: named('draft', drafts),
  };
  return { models: [model], notices };
}

/** The one called like the directory, else the first in the list. */
function choose(
  directory: string,
  role: string,
  id: string,
  candidates: readonly Candidate[],
  notices: CatalogNotice[],
): Candidate | null {
  const chosen = candidates.find(({ stem }) => stem === id) ?? candidates[0];
  if (chosen === undefined) return null;
  const others = candidates.filter((candidate) => candidate !== chosen).map(({ first }) => quote(first));
  if (others.length > 0) {
    const why = chosen.stem === id ? 'it is called like the directory' : 'it comes first';
    const list = others.slice(0, 5).join(', ') + (others.length > 5 ? ` and ${others.length - 5} more` : '');
    say(
      notices,
      directory,
      `has several files for the ${role}: ${quote(chosen.first)} is taken, since ${why}, and not ${list}`,
    );
  }
  return chosen;
}

function candidateOf(set: ShardSet): Candidate {
  return { stem: set.prefix, first: set.names[0] ?? set.prefix, set };
}

function filesOf(directory: string, { first, set }: Candidate): Pick<FoundModel, 'shards' | 'problem'> {
  const names = set === null ? [first] : set.names;
  return { shards: names.map((name) => join(directory, name)), problem: set === null ? null : describeMissing(set) };
}

/** llama-server takes any name with `mmproj` in it for a projector. */
function isProjector(name: string): boolean {
  return name.toLowerCase().includes('mmproj');
}

function stemOf(name: string): string {
  return name.slice(0, -'.gguf'.length);
}

function say(notices: CatalogNotice[], path: string, message: string): void {
  notices.push({ path, line: null, message });
}
