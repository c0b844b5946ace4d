import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Bytes } from '../scheduler/units.js';
import { describeSystemError } from './catalog-source-error.js';
import type { FileIdentity, GgufSummary, ModelFiles } from './entry.js';
import type { HeaderReader, HeaderReading } from './gguf-header.js';
import { summariseHeader } from './gguf-summary.js';
import { printable, quote } from './quote.js';
import { describeMissing, groupShards, parseShardName } from './shards.js';

const LONGEST_PATH = 512;

/** Paths of a model's files as they are named to the child. */
export interface ModelPaths {
  readonly shards: readonly string[];
  readonly projector: string | null;
  readonly draft: string | null;
}

export interface FileInspection {
  /** Null when not one of them could be found. */
  readonly files: ModelFiles | null;
  readonly header: GgufSummary | null;
  /** The first fault, in one sentence, or null. */
  readonly problem: string | null;
}

/** The shards that belong to the one that a user names, found beside it; `problem` when one of them is missing. */
export async function findShards(
  model: string,
): Promise<{ readonly shards: string[]; readonly problem: string | null }> {
  const name = basename(model);
  const shard = parseShardName(name);
  if (shard === null) return { shards: [model], problem: null };
  if (shard.index !== 1) {
    return {
      shards: [model],
      problem: `${quote(name)} is shard ${shard.index} of ${shard.total}; give the first shard as model`,
    };
  }
  const directory = dirname(model);
  const names = await readdir(directory).catch(() => [name]);
  const siblings = names.filter((other) => {
    const parsed = parseShardName(other);
    return parsed?.prefix === shard.prefix && parsed.total === shard.total;
  });
  const [set] = groupShards(siblings.length > 0 ? siblings : [name]).sets;
  if (set === undefined) return { shards: [model], problem: null };
  // `join` would rewrite a path like `./a.gguf`: what the user wrote is kept for the first.
  return {
    shards: set.names.map((other) => (other === name ? model : join(directory, other))),
    problem: describeMissing(set),
  };
}

/** Looks at every file of a model: is it there, is it whole, what does its header say. Never rejects. */
export async function inspectFiles(paths: ModelPaths, headers: HeaderReader): Promise<FileInspection> {
  const extras = [paths.projector, paths.draft].filter((path) => path !== null);
  const looks = await Promise.all([...paths.shards, ...extras].map((path) => inspectFile(path, headers)));
  const shardLooks = looks.slice(0, paths.shards.length);
  const problem = looks.find((look) => look.problem !== null)?.problem ?? null;
  const first = shardLooks[0]?.reading;
  const summary = first?.ok === true ? summariseHeader(first.facts) : null;
  const parameters = shardLooks.reduce(
    (sum, { reading }) => sum + (reading?.ok === true ? reading.facts.parameters : 0),
    0,
  );
  const stamps = looks.flatMap(({ stamp }) => stamp ?? []);
  const sizeBytes = stamps.reduce((sum, stamp) => sum + stamp.sizeBytes, 0);
  return {
    files: stamps.length > 0 ? { ...paths, sizeBytes, stamps } : null,
    header: summary === null ? null : { ...summary, parameters: parameters > 0 ? parameters : null },
    problem: problem ?? (first?.ok === true && summary === null ? nameless(paths.shards[0] ?? '') : null),
  };
}

interface FileLook {
  /** Null when there is no such file. */
  readonly stamp: FileIdentity | null;
  readonly reading: HeaderReading | null;
  readonly problem: string | null;
}

async function inspectFile(path: string, headers: HeaderReader): Promise<FileLook> {
  const because = (reason: string, stamp: FileIdentity | null, reading: HeaderReading | null = null): FileLook => ({
    stamp,
    reading,
    problem: `${quote(basename(path))} ${reason}`,
  });
  let stats: Stats;
  try {
    stats = await stat(path);
  } catch (error) {
    const problem = `"${printable(path, LONGEST_PATH)}" cannot be used: ${describeSystemError(error)}`;
    return { stamp: null, reading: null, problem };
  }
  if (!stats.isFile()) return because('is not a regular file', null);
  const stamp: FileIdentity = { path, sizeBytes: stats.size, modifiedAt: stats.mtimeMs };
  const reading = await headers.read(stamp);
  if (!reading.ok) return because(reading.reason, stamp);
  const { neededBytes } = reading.facts;
  if (neededBytes > stats.size) {
    return because(`is truncated: ${sizeOf(stats.size, neededBytes)}; download it again`, stamp, reading);
  }
  return { stamp, reading, problem: null };
}

function nameless(path: string): string {
  return `${quote(basename(path))} does not say which architecture it has; it is no model`;
}

/** `12.3 MiB of 45.0 MiB`; in bytes where the two would look the same. */
function sizeOf(sizeBytes: Bytes, neededBytes: Bytes): string {
  const has = mib(sizeBytes);
  const needs = mib(neededBytes);
  return has === needs || neededBytes < 1024 * 1024 ? `${sizeBytes} of ${neededBytes} bytes` : `${has} of ${needs}`;
}

function mib(bytes: Bytes): string {
  return `${(bytes / (1024 * 1024)).toFixed(1)} MiB`;
}
