import { mkdir, stat, statfs, symlink, writeFile, rename, rm, copyFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Bytes, Millis } from '../../scheduler/units.js';
import { folderOfRepo } from './cache-directory.js';
import { downloadFile } from './download-file.js';
import { DownloadError, listRepo, type HubAccess, type HubFile, type HubRepo } from './hub.js';
import { findModel, splitRepoTag, tagsOf } from './repo-files.js';

/** A model that is known to exist, and what it consists of. */
export interface DownloadPlan {
  /** `repo:TAG`, as it will be called. */
  readonly id: string;
  readonly repo: HubRepo;
  readonly files: readonly HubFile[];
}

export interface DownloadOptions {
  readonly cache: string;
  readonly access: HubAccess;
  readonly signal: AbortSignal;
  readonly onProgress: (file: HubFile, downloadedBytes: Bytes) => void;
  readonly firstDelayMillis?: Millis;
}

/** Asks the hub what `repo:tag` means. Throws DownloadError. */
export async function planDownload(name: string, access: HubAccess, signal: AbortSignal): Promise<DownloadPlan> {
  const wanted = splitRepoTag(name);
  if (wanted === null) {
    throw new DownloadError(`'${name.slice(0, 256)}' is no model of the hub; write OWNER/NAME or OWNER/NAME:TAG`, 400);
  }
  const repo = await listRepo(wanted.repo, access, signal);
  const model = findModel(repo.files, wanted.tag);
  if (model === null) {
    const tags = tagsOf(repo.files);
    const hint = tags.length === 0 ? 'it holds no GGUF model' : `it has ${tags.slice(0, 12).join(', ')}`;
    throw new DownloadError(`${wanted.repo} has no model ${wanted.tag ?? ''}: ${hint}`.replace('  ', ' '), 404);
  }
  const tag = tagsOf(model.shards)[0];
  const files = [...model.shards, ...(model.projector === null ? [] : [model.projector])];
  return { id: tag === undefined ? wanted.repo : `${wanted.repo}:${tag}`, repo, files };
}

/**
 * Downloads a model's files into the cache, in the layout that huggingface_hub and llama.cpp share. The revision becomes
 * the one that counts when everything is there. Throws DownloadError, or what the signal was aborted with.
 */
export async function downloadModel({ repo, files }: DownloadPlan, options: DownloadOptions): Promise<void> {
  const { cache, onProgress, ...how } = options;
  const directory = join(cache, folderOfRepo(repo.repo));
  const blobs = join(directory, 'blobs');
  try {
    await mkdir(blobs, { recursive: true });
    await checkRoom(blobs, files);
    for (const file of files) {
      const blob = join(blobs, file.checksum.hex);
      if (!(await exists(blob))) {
        const progress = (bytes: Bytes): void => onProgress(file, bytes);
        await downloadFile({ ...how, repo: repo.repo, file, path: blob, onProgress: progress });
      }
      onProgress(file, file.sizeBytes);
      await pointTo(blob, join(directory, 'snapshots', repo.commit, file.path));
    }
    await writeRef(join(directory, 'refs', 'main'), repo.commit);
  } catch (error) {
    if (error instanceof DownloadError || options.signal.aborted) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new DownloadError(`${repo.repo} cannot be written to ${cache}: ${why}`, 500, { cause: error });
  }
}

/** A disk that is full in an hour's time is better known now. */
async function checkRoom(directory: string, files: readonly HubFile[]): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  const sizes = await Promise.all(
    files.map(async (file) => ((await exists(join(directory, file.checksum.hex))) ? 0 : file.sizeBytes)),
  );
  const needed = sizes.reduce((sum, bytes) => sum + bytes, 0);
  const free = bavail * bsize;
  if (needed <= free) return;
  const gib = (bytes: Bytes): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
  throw new DownloadError(`${directory} has ${gib(free)} free and the download takes ${gib(needed)}; make room`, 507);
}

/** A link as both libraries make it, or a copy where links cannot be made. */
async function pointTo(blob: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  if (await exists(path)) return;
  await rm(path, { force: true });
  try {
    await symlink(relative(dirname(path), blob), path);
  } catch {
    await copyFile(blob, path);
  }
}

async function writeRef(path: string, commit: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.tmp`, commit);
  await rename(`${path}.tmp`, path);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
