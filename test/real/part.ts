import type { Rig } from './rig.js';

/** What every part is given. */
export interface Context {
  readonly rig: Rig;
  /** Directory of the models. */
  readonly models: string;
  readonly seed: number;
  /** How long this part's clients go on, all of them together. */
  readonly millis: number;
}

/** One line of the table. Counts that it does not have are null. */
export interface Row {
  readonly name: string;
  readonly requests: number | null;
  readonly failed: number | null;
  /** Allocations that the emulated GPUs refused: counted there, whatever the children or we say. */
  readonly outOfMemory: number | null;
  readonly evictions: number | null;
  /** Share of the largest figure, 0..1; see compareAtRest. */
  readonly worstDisagreement: number | null;
}

export interface PartResult {
  readonly rows: readonly Row[];
  /** What was wrong, one sentence each; the run fails if there is any. */
  readonly faults: readonly string[];
  /** What is worth knowing, one sentence each. */
  readonly remarks: readonly string[];
}

/** A row of a part that has nothing to count. */
export const NO_COUNTS: Omit<Row, 'name'> = {
  requests: null,
  failed: null,
  outOfMemory: null,
  evictions: null,
  worstDisagreement: null,
};

export interface Part {
  /** One word, for `--part`. */
  readonly name: string;
  /** What it shows. */
  readonly story: string;
  /** How much of the given time it gets; 0: it takes as long as it takes, some seconds. */
  readonly weight: number;
  run(context: Context): Promise<PartResult>;
}
