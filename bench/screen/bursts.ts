import type { TerminalWrite } from '../../test/support/terminal.js';

/** Frames are at least this far apart; the pieces of one come sooner after each other. */
const GAP_MILLIS = 20;

/** One frame as it reaches the terminal. */
export interface Burst {
  readonly fromMillis: number;
  readonly toMillis: number;
  readonly bytes: number;
}

/** The frames since a moment of `performance.now()`: pieces of output that come right after each other are one. */
export function burstsSince(writes: readonly TerminalWrite[], sinceMillis: number): readonly Burst[] {
  const bursts: Burst[] = [];
  for (const { atMillis, bytes } of writes) {
    if (atMillis < sinceMillis) continue;
    const last = bursts.at(-1);
    if (last !== undefined && atMillis - last.toMillis < GAP_MILLIS) {
      bursts[bursts.length - 1] = { ...last, toMillis: atMillis, bytes: last.bytes + bytes };
    } else bursts.push({ fromMillis: atMillis, toMillis: atMillis, bytes });
  }
  return bursts;
}

export function bytesOf(bursts: readonly Burst[]): number {
  return bursts.reduce((sum, { bytes }) => sum + bytes, 0);
}
