import type { Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { describeSystemError, systemErrorCode } from './catalog-source-error.js';
import type { CatalogNotice } from './entry.js';
import { mapBounded } from './map-bounded.js';
import { quote } from './quote.js';

/** What is of interest in a directory, in name order. */
export interface Listing {
  /** Names that end in `.gguf`, of regular files or links to such. */
  readonly models: readonly string[];
  /** Names of directories, or of links to such. */
  readonly directories: readonly string[];
  readonly notices: readonly CatalogNotice[];
}

/** Endings of files that are still being downloaded, by browsers, curl, aria2, huggingface_hub and llama.cpp. */
const UNFINISHED = /\.(?:part|partial|incomplete|crdownload|download|downloadInProgress|aria2|tmp)$/iu;
const STATS_AT_ONCE = 32;

type Kind = 'model' | 'directory' | 'nothing';
type Say = (name: string, message: string) => void;

interface Item {
  readonly name: string;
  /** True when the listing itself tells that it is a regular file: thousands of them need no further look. */
  readonly isFile: boolean;
}

/**
 * Lists one directory, without its subdirectories. Links are followed to learn what they point to, and keep their own
 * names. Hidden files that are no models are passed over in silence; whatever else is skipped is a notice. Rejects only when the directory
 * itself cannot be read.
 */
export async function listDirectory(directory: string): Promise<Listing> {
  const notices: CatalogNotice[] = [];
  const say: Say = (name, message) => {
    notices.push({ path: join(directory, name), line: null, message });
  };
  const items: Item[] = [];
  for (const item of await readdir(directory, { encoding: 'buffer', withFileTypes: true })) {
    const name = item.name.toString('utf8');
    if (name.startsWith('.')) {
      if (name.endsWith('.gguf')) say(name, `${quote(name)} is skipped: its name begins with a dot; rename it`);
      continue;
    }
    if (Buffer.compare(Buffer.from(name, 'utf8'), item.name) === 0) items.push({ name, isFile: item.isFile() });
    else say(name, `${quote(name)} is skipped: its name is not UTF-8; rename it`);
  }
  items.sort((left, right) => (left.name < right.name ? -1 : 1));
  const own = await realpath(directory);
  const kinds = await mapBounded(items, STATS_AT_ONCE, ({ name, isFile }) =>
    isFile ? Promise.resolve(kindOfFile(name, true, say)) : kindOfOther(directory, own, name, say),
  );
  const ofKind = (kind: Kind): string[] => items.filter((_, index) => kinds[index] === kind).map(({ name }) => name);
  return {
    models: ofKind('model'),
    directories: ofKind('directory'),
    notices: notices.sort((left, right) => (left.path < right.path ? -1 : 1)),
  };
}

async function kindOfOther(directory: string, own: string, name: string, say: Say): Promise<Kind> {
  let stats: Stats;
  const path = join(directory, name);
  try {
    stats = await stat(path);
  } catch (error) {
    const target =
      systemErrorCode(error) === 'ENOENT'
        ? 'it is a link to something that does not exist'
        : describeSystemError(error);
    say(name, `${quote(name)} is skipped: ${target}`);
    return 'nothing';
  }
  if (stats.isDirectory()) {
    const target = await realpath(path).catch(() => null);
    if (target !== null && !`${own}${sep}`.startsWith(target.endsWith(sep) ? target : `${target}${sep}`))
      return 'directory';
    say(name, `${quote(name)} is skipped: it is a link back to a directory that holds it`);
    return 'nothing';
  }
  return kindOfFile(name, stats.isFile(), say);
}

function kindOfFile(name: string, isRegular: boolean, say: Say): Kind {
  if (UNFINISHED.test(name)) {
    say(name, `${quote(name)} is skipped: it looks like an unfinished download`);
    return 'nothing';
  }
  if (name.endsWith('.gguf')) {
    // A pipe or a device would block whoever opens it.
    if (isRegular) return 'model';
    say(name, `${quote(name)} is skipped: it is not a regular file`);
  } else if (/\.gguf$/iu.test(name)) {
    say(name, `${quote(name)} is skipped: the name must end in .gguf, in small letters; rename it`);
  }
  return 'nothing';
}
