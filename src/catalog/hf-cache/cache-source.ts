import type { FoundModel } from '../found-model.js';
import { groupShards, describeMissing } from '../shards.js';
import { basename } from 'node:path';
import type { CachedFile, CachedRepo } from './cached-repos.js';
import { findModel, splitRepoTag, tagsOf, type RepoModel } from './repo-files.js';

/** The models of the cache, each as `repo:TAG`, in name order. */
export function modelsInCache(repos: readonly CachedRepo[]): readonly FoundModel[] {
  return repos.flatMap(({ repo, files }) =>
    tagsOf(files).flatMap((tag) => {
      const model = findModel(files, tag);
      return model === null ? [] : [foundInCache(`${repo}:${tag}`, model)];
    }),
  );
}

/** The files that `hf-repo = repo:tag` (and `hf-file`) mean, when the cache has them; else null. */
export function findInCache(repos: readonly CachedRepo[], hfRepo: string, hfFile: string | null): FoundModel | null {
  const wanted = splitRepoTag(hfRepo);
  const files = repos.find(({ repo }) => repo === wanted?.repo)?.files ?? [];
  if (wanted === null || files.length === 0) return null;
  if (hfFile === null) {
    const model = findModel(files, wanted.tag);
    return model === null ? null : foundInCache(hfRepo, model);
  }
  const file = files.find(({ path }) => path === hfFile);
  return file === undefined ? null : foundInCache(hfRepo, { shards: [file], projector: null });
}

function foundInCache(id: string, { shards, projector }: RepoModel<CachedFile>): FoundModel {
  const paths = shards.map(({ localPath }) => localPath);
  const [set] = groupShards(paths.map((path) => basename(path))).sets;
  return {
    id,
    otherNames: [],
    source: { kind: 'cache', path: paths[0] ?? '', line: null },
    shards: paths,
    projector: projector?.localPath ?? null,
    draft: null,
    problem: set === undefined ? null : describeMissing(set),
  };
}
