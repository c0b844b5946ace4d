/** One option that a child understands. */
export interface OptionSpec {
  /** Long name without dashes, e.g. `ctx-size`. */
  readonly name: string;
  /** Every other spelling without dashes, long or short, e.g. `c`. */
  readonly aliases: readonly string[];
  readonly takesValue: boolean;
  /** True when `--no-NAME` is understood. */
  readonly negatable: boolean;
  /** Environment variable, e.g. `LLAMA_ARG_CTX_SIZE`. */
  readonly env: string | null;
}

/** What an engine's child accepts; a preset key means what this table makes of it. */
export type OptionTable = readonly OptionSpec[];
