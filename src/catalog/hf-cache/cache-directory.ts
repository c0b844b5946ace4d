import { homedir } from 'node:os';
import { join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the models of Hugging Face are kept: the first variable that is set decides, as in llama.cpp's `hf-cache.cpp`. */
export function hfCacheDirectory(environment: Environment): string {
  const set = (name: string): string | null => environment[name] || null;
  const home = set('HF_HOME');
  const cache = set('XDG_CACHE_HOME');
  return (
    set('LLAMA_CACHE') ??
    set('HF_HUB_CACHE') ??
    set('HUGGINGFACE_HUB_CACHE') ??
    (home === null ? null : join(home, 'hub')) ??
    (cache === null ? null : join(cache, 'huggingface', 'hub')) ??
    join(set('HOME') ?? homedir(), '.cache', 'huggingface', 'hub')
  );
}

/** `models--owner--name` for `owner/name`. */
export function folderOfRepo(repo: string): string {
  return `models--${repo.replaceAll('/', '--')}`;
}

/** The other way round; null for a folder that is no repository of a model. */
export function repoOfFolder(folder: string): string | null {
  const prefix = 'models--';
  return folder.startsWith(prefix) ? folder.slice(prefix.length).replaceAll('--', '/') : null;
}
