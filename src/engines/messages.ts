import type { Bytes, DeviceBytes } from '../scheduler/units.js';

/** Prefix of a child's protocol lines on stdout (llama-server's router protocol, builds of 2026). */
export const CHILD_PREFIX = 'cmd_child_to_router:';
/** What the router writes to a child's stdin to make it leave. */
export const EXIT_MESSAGE = 'cmd_router_to_child:exit\n';

/** Memory of a child, as its `ready` and `measured` messages carry it (bytes). */
export interface ChildMemory {
  readonly n_ctx: number;
  readonly devices: readonly {
    readonly kind: 'device' | 'host' | 'buffer_type';
    readonly name: string;
    readonly total?: Bytes;
    readonly free?: Bytes;
    readonly model: Bytes;
    readonly context: Bytes;
    readonly compute: Bytes;
  }[];
}

/** What a child said of itself; anything else it prints is a log line. */
export type ChildMessage =
  | { readonly type: 'loading'; /** 0..1 */ readonly progress: number | null }
  | { readonly type: 'ready'; readonly contextTokens: number | null; readonly effective: DeviceBytes | null }
  | { readonly type: 'sleeping' };
