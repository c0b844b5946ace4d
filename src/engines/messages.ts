import type { Bytes, DeviceBytes } from '../scheduler/units.js';

/** Prefix of a child's protocol lines on stdout (llama-server's router protocol, builds of 2026). */
export const CHILD_PREFIX = 'cmd_child_to_router:';
/** What the router writes to a child's stdin to make it leave. */
export const EXIT_MESSAGE = 'cmd_router_to_child:exit\n';

/**
 * What the router writes to a child's stdin to make it leave memory as it would when idle for long enough. Ours alone: only
 * engines whose capabilities say `park` have children that read it.
 */
export const SLEEP_MESSAGE = 'cmd_router_to_child:sleep\n';

/** One buffer owner of a child's memory table (bytes). */
export interface MemoryRow {
  readonly kind: 'device' | 'host' | 'buffer_type';
  readonly name: string;
  /** Of the device itself; only for kind `device`. */
  readonly total?: Bytes;
  readonly free?: Bytes;
  readonly model: Bytes;
  readonly context: Bytes;
  readonly compute: Bytes;
}

/** Memory of a child, as its `ready` and `measuring` messages carry it. */
export interface ChildMemory {
  /** Tokens of context; 0 where the child does not say. */
  readonly n_ctx: number;
  readonly devices: readonly MemoryRow[];
}

/** What a measuring child found out, or why it could not. */
export type MeasuredResult =
  | {
      readonly result: 'measured';
      readonly trainedContextTokens: number | null;
      /** At the smallest context that fitting may choose; equals `max` when the context is given. */
      readonly min: ChildMemory;
      /** At the largest context that fits now. */
      readonly max: ChildMemory;
    }
  | { readonly result: 'failed'; /** One sentence. */ readonly error: string };

/** What a child that is ready says of its model (`n_vocab`, `n_embd` …), as clients of llama-server's router see it. */
export type ChildMeta = Readonly<Record<string, string | number | boolean>>;

/** What a child said of itself; anything else it prints is a log line. */
export type ChildMessage =
  | { readonly type: 'loading'; /** 0..1 */ readonly progress: number | null }
  | {
      readonly type: 'ready';
      readonly contextTokens: number | null;
      readonly effective: DeviceBytes | null;
      /** The table that `effective` was added up from; absent where the child gave none that can be believed. */
      readonly memory?: ChildMemory;
      /** Absent where it says nothing. */
      readonly meta?: ChildMeta;
    }
  | { readonly type: 'measured'; readonly result: MeasuredResult }
  | { readonly type: 'sleeping' };
