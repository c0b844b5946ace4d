import { readlinkSync, watch, type FSWatcher } from 'node:fs';
import { join, parse, resolve, sep } from 'node:path';

/** As many links as Linux follows. */
const MOST_LINKS = 40;

/** One entry of a directory. */
interface Entry {
  readonly directory: string;
  readonly name: string;
}

/**
 * Tells when a path may lead to something else than before: when the file at its end, or a link on the way to it, is
 * written or replaced. Editors and deployments replace files and links rather than write into them, so it is their
 * directories that are watched.
 */
export class PathWatch {
  readonly #path: string;
  readonly #onChange: () => void;
  #entries: readonly Entry[] = [];
  #watchers: readonly FSWatcher[] = [];

  constructor(path: string, onChange: () => void) {
    this.#path = path;
    this.#onChange = onChange;
  }

  /** Throws what the system says of a directory that cannot be watched. */
  start(): this {
    const entries = entriesOnTheWay(this.#path);
    const watchers: FSWatcher[] = [];
    try {
      for (const [directory, names] of byDirectory(entries)) {
        const watcher = watch(directory, (_event, changed) => {
          if (changed === null || names.has(changed)) this.#changed();
        });
        watchers.push(watcher.on('error', () => undefined));
      }
    } catch (error) {
      for (const watcher of watchers) watcher.close();
      throw error;
    }
    this.close();
    [this.#entries, this.#watchers] = [entries, watchers];
    return this;
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
  }

  #changed(): void {
    // A link may lead elsewhere by now; while it leads nowhere, what was watched is watched on.
    if (JSON.stringify(entriesOnTheWay(this.#path)) !== JSON.stringify(this.#entries)) {
      try {
        this.start();
      } catch {
        // The next change of what is still watched tries again.
      }
    }
    this.#onChange();
  }
}

/** The path's own entry, every link on the way, and the entry that they lead to. */
function entriesOnTheWay(path: string): readonly Entry[] {
  const whole = resolve(path);
  const { root } = parse(whole);
  const entries: Entry[] = [];
  let rest = partsOf(whole);
  let at = root;
  let links = 0;
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const here = join(at, name);
    const target = linkAt(here);
    if (target !== null || rest.length === 0) entries.push({ directory: at, name });
    if (target === null) {
      at = here;
      continue;
    }
    links += 1;
    if (links > MOST_LINKS) break;
    rest = [...partsOf(resolve(at, target)), ...rest];
    at = root;
  }
  return entries;
}

function partsOf(path: string): string[] {
  return path.slice(parse(path).root.length).split(sep).filter(Boolean);
}

/** Where a link leads; null for what is none, or not there. */
function linkAt(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function byDirectory(entries: readonly Entry[]): ReadonlyMap<string, ReadonlySet<string>> {
  const names = new Map<string, Set<string>>();
  for (const { directory, name } of entries) names.set(directory, (names.get(directory) ?? new Set()).add(name));
  return names;
}
