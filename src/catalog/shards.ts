/** A file name as llama.cpp's `gguf-split` writes it: `PREFIX-00001-of-00003.gguf`. */
export interface ShardName {
  readonly prefix: string;
  /** Counted from 1. */
  readonly index: number;
  readonly total: number;
}

/** One model in several files, named as found in one directory. */
export interface ShardSet {
  readonly prefix: string;
  readonly total: number;
  /** Those that are there, in order. */
  readonly names: readonly string[];
  /** Names of those that are not. */
  readonly missing: readonly string[];
}

const SHARD = /^(.+)-(\d{5})-of-(\d{5})\.gguf$/su;
const MOST_NAMED = 3;

/** Null for a name that is no shard, or counts impossibly (`-00004-of-00003`). */
export function parseShardName(name: string): ShardName | null {
  const match = SHARD.exec(name);
  if (match === null) return null;
  const [, prefix = '', index, total] = match;
  const shard = { prefix, index: Number(index), total: Number(total) };
  return shard.index >= 1 && shard.index <= shard.total ? shard : null;
}

export function shardName({ prefix, index, total }: ShardName): string {
  return `${prefix}-${fiveDigits(index)}-of-${fiveDigits(total)}.gguf`;
}

/** Sorts names of one directory into shard sets and the rest, both in name order whatever order they come in. */
export function groupShards(names: readonly string[]): {
  readonly sets: readonly ShardSet[];
  readonly single: readonly string[];
} {
  const found = new Map<string, Set<string>>();
  const single: string[] = [];
  for (const name of names.toSorted()) {
    const shard = parseShardName(name);
    if (shard === null) {
      single.push(name);
      continue;
    }
    const key = shardName({ ...shard, index: shard.total });
    found.set(key, (found.get(key) ?? new Set()).add(name));
  }
  const sets = [...found].map(([last, there]) => setOf(parseShardName(last), there));
  return { sets, single };
}

/** One sentence, or null when all are there. */
export function describeMissing(set: ShardSet): string | null {
  if (set.missing.length === 0) return null;
  const named = set.missing.slice(0, MOST_NAMED).join(', ');
  const more = set.missing.length > MOST_NAMED ? ` and ${set.missing.length - MOST_NAMED} more` : '';
  const verb = set.missing.length === 1 ? 'is' : 'are';
  return `${named}${more} of ${set.total} shards ${verb} missing; put all shards into the same directory`;
}

function setOf(last: ShardName | null, there: ReadonlySet<string>): ShardSet {
  const { prefix, total } = last ?? { prefix: '', total: 0 };
  const names: string[] = [];
  const missing: string[] = [];
  for (let index = 1; index <= total; index += 1) {
    const name = shardName({ prefix, index, total });
    (there.has(name) ? names : missing).push(name);
  }
  return { prefix, total, names, missing };
}

function fiveDigits(count: number): string {
  return String(count).padStart(5, '0');
}
