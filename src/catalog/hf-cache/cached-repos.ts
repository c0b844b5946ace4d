import { type Dirent, type Stats } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { CatalogSourceError, describeSystemError, systemErrorCode } from '../catalog-source-error.js';
import type { CatalogNotice } from '../entry.js';
import { mapBounded } from '../map-bounded.js';
import { quote } from '../quote.js';
import { repoOfFolder } from './cache-directory.js';
import { isRepoId } from './repo-files.js';

export interface CachedFile {
  /** In the repository, with `/` between folders. */
  readonly path: string;
  /** As found: a link into the blobs, mostly. */
  readonly localPath: string;
}

/** One repository with the files of the revision that counts. */
export interface CachedRepo {
  readonly repo: string;
  readonly directory: string;
  /** In name order. */
  readonly files: readonly CachedFile[];
}

export interface CachedRepos {
  /** In name order. */
  readonly repos: readonly CachedRepo[];
  readonly notices: readonly CatalogNotice[];
}

const REPOS_AT_ONCE = 16;
const COMMIT = /^[0-9a-f]{40}$/iu;
/** A repository of more files than this is no repository of models. */
const MOST_FILES = 10_000;

/**
 * What the cache of Hugging Face holds; nothing is asked of the network. A cache that does not exist is empty. A
 * repository that cannot be read is passed over with a notice.
 * @throws CatalogSourceError when the cache itself cannot be read.
 */
export async function readCachedRepos(directory: string): Promise<CachedRepos> {
  let folders: readonly string[];
  try {
    folders = (await readdir(directory)).sort();
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return { repos: [], notices: [] };
    const why = describeSystemError(error);
    const message = `cannot read the cache of Hugging Face ${quote(directory)}: ${why}; set HF_HUB_CACHE to a directory`;
    throw new CatalogSourceError(directory, message, { cause: error });
  }
  const notices: CatalogNotice[] = [];
  const found = await mapBounded(folders, REPOS_AT_ONCE, async (folder): Promise<CachedRepo | null> => {
    const repo = repoOfFolder(folder);
    if (repo === null || !isRepoId(repo)) return null;
    const path = join(directory, folder);
    try {
      const files = await filesOf(path);
      return files === null ? null : { repo, directory: path, files };
    } catch (error) {
      notices.push({ path, line: null, message: `is skipped: ${describeSystemError(error)}` });
      return null;
    }
  });
  return { repos: found.filter((repo) => repo !== null), notices };
}

/** Null when the repository has no revision that could be loaded. */
async function filesOf(repo: string): Promise<readonly CachedFile[] | null> {
  const commit = await revisionOf(join(repo, 'refs'));
  if (commit === null) return null;
  const snapshot = join(repo, 'snapshots', commit);
  let entries: readonly Dirent[];
  try {
    entries = await readdir(snapshot, { recursive: true, withFileTypes: true });
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT' || systemErrorCode(error) === 'ENOTDIR') return null;
    throw error;
  }
  const files = entries.slice(0, MOST_FILES).filter((entry) => entry.isFile() || entry.isSymbolicLink());
  return files
    .map((entry) => join(entry.parentPath, entry.name))
    .map((localPath) => ({ path: relative(snapshot, localPath).split(sep).join('/'), localPath }))
    .sort((left, right) => (left.path < right.path ? -1 : 1));
}

/** The revision that `main` names, else any other that is named. */
async function revisionOf(refs: string): Promise<string | null> {
  let names: readonly string[];
  try {
    names = (await readdir(refs)).sort();
  } catch {
    return null;
  }
  const ordered = names.includes('main') ? ['main', ...names] : names;
  for (const name of ordered) {
    const commit = await firstLine(join(refs, name));
    if (commit !== null && COMMIT.test(commit)) return commit;
  }
  return null;
}

async function firstLine(path: string): Promise<string | null> {
  try {
    const stats: Stats = await stat(path);
    if (!stats.isFile() || stats.size > 4096) return null;
    return (await readFile(path, 'utf8')).split(/\r?\n/u, 1)[0] ?? null;
  } catch {
    return null;
  }
}
