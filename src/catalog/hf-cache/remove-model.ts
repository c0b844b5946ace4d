import { readdir, readlink, rm } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { folderOfRepo } from './cache-directory.js';
import { readCachedRepos } from './cached-repos.js';
import { filesOfTag, splitRepoTag } from './repo-files.js';

/**
 * Deletes the files of `repo:TAG` from the cache, with the blobs that nothing else in the repository points to. False
 * when there are none. Rejects when something cannot be deleted.
 */
export async function removeCachedModel(cache: string, id: string): Promise<boolean> {
  const wanted = splitRepoTag(id);
  const { repos } = await readCachedRepos(cache);
  const cached = repos.find(({ repo }) => repo === wanted?.repo);
  if (wanted?.tag == null || cached === undefined) return false;
  const files = filesOfTag(cached.files, wanted.tag);
  const blobs = new Set((await Promise.all(files.map(({ localPath }) => targetOf(localPath)))).filter(isThere));
  for (const { localPath } of files) await rm(localPath, { force: true });
  const directory = join(cache, folderOfRepo(cached.repo));
  for (const link of await linksIn(join(directory, 'snapshots'))) blobs.delete((await targetOf(link)) ?? '');
  for (const blob of blobs) if (blob.startsWith(join(directory, 'blobs'))) await rm(blob, { force: true });
  return files.length > 0;
}

/** What a link points to; null for anything else. */
async function targetOf(path: string): Promise<string | null> {
  try {
    return normalize(join(dirname(path), await readlink(path)));
  } catch {
    return null;
  }
}

/** Every link of every revision. */
async function linksIn(snapshots: string): Promise<readonly string[]> {
  const entries = await readdir(snapshots, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isSymbolicLink()).map((entry) => join(entry.parentPath, entry.name));
}

function isThere(path: string | null): path is string {
  return path !== null;
}
