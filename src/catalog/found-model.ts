import type { EntrySource } from './entry.js';

/** A model as a directory holds it: files with their roles, before any option is laid over it. */
export interface FoundModel {
  readonly id: string;
  /** Other names by which llama-server would know it. */
  readonly otherNames: readonly string[];
  readonly source: EntrySource;
  /** Every shard that is there, the first one first; one for a model in one file. */
  readonly shards: readonly string[];
  readonly projector: string | null;
  readonly draft: string | null;
  /** Why it cannot be loaded, as far as names can tell, or null. */
  readonly problem: string | null;
}
