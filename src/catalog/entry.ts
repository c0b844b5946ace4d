import type { Bytes, Millis, ModelId } from '../scheduler/units.js';

/** One option of a child, by its long name without dashes; a flag has the value `true`, its `no-` form `false`. */
export interface ChildOption {
  readonly name: string;
  readonly value: string | boolean;
}

/** What a GGUF header says; null where the file does not say it. */
export interface GgufSummary {
  readonly architecture: string;
  readonly parameters: number | null;
  readonly quantisation: string | null;
  readonly trainedContextTokens: number | null;
  readonly layers: number | null;
  readonly hasChatTemplate: boolean;
  /** Key and value cache, both together, for one token of context at 16 bits; null when it cannot be told. */
  readonly kvBytesPerToken: Bytes | null;
  readonly isEmbeddingModel: boolean;
}

/** A file as it was found; the same path with another size or time is another file. */
export interface FileIdentity {
  readonly path: string;
  readonly sizeBytes: Bytes;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: Millis;
}

export interface ModelFiles {
  /** Every shard, the first one first, as found (links are not resolved). */
  readonly shards: readonly string[];
  readonly projector: string | null;
  readonly draft: string | null;
  /** All of them together. */
  readonly sizeBytes: Bytes;
  /** Of every one that could be found: shards, projector, draft. */
  readonly stamps?: readonly FileIdentity[];
}

/** Where an entry comes from, for the screen and for messages. */
export interface EntrySource {
  readonly kind: 'directory' | 'preset' | 'sample' | 'cache';
  readonly path: string;
  /** Line of the section in a preset, counted from 1. */
  readonly line: number | null;
}

/** A model that can be served: everything a child is started with, and everything shown about it. */
export interface CatalogEntry {
  readonly id: ModelId;
  readonly aliases: readonly string[];
  readonly tags: readonly string[];
  readonly source: EntrySource;
  /** Options of the child, in the order in which they take effect; no router-owned or preset-only ones, no secrets. */
  readonly options: readonly ChildOption[];
  /** The same as an argument list, e.g. `['--model', '/m/a.gguf', '--ctx-size', '4096']`. */
  readonly args: readonly string[];
  /** Tokens and the like that the child is told in its environment, by variable; absent: none. Never shown. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Null for engines that need no file (`sim`). */
  readonly files: ModelFiles | null;
  readonly header: GgufSummary | null;
  /** Why it cannot be loaded, in one sentence, or null. */
  readonly invalid: string | null;
  readonly pin: boolean;
  readonly priority: number;
  readonly loadOnStartup: boolean;
  /** 0: it is never unloaded for being idle. */
  readonly idleTimeoutMillis: Millis;
  readonly stopTimeoutMillis: Millis;
  /** How long a load may give no sign of life; 0: for ever; absent: as for all. */
  readonly loadTimeoutMillis?: Millis;
  /** Context size given by the user, or null when the child chooses it. */
  readonly contextTokens: number | null;
}

/** Something the user should know about a source: what was read there, and what was made of it. */
export interface CatalogNotice {
  readonly path: string;
  readonly line: number | null;
  /** One sentence: what, where, what to do. */
  readonly message: string;
}

export interface Catalog {
  /** In a stable order: sources in order of precedence, then file order or name order. */
  readonly entries: readonly CatalogEntry[];
  readonly notices: readonly CatalogNotice[];
}
