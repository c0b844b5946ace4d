import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from './types.js';

/** Waits so long, or until the signal aborts; never rejects. */
export async function pause(millis: Millis, signal: AbortSignal): Promise<void> {
  await delay(millis, undefined, { signal }).catch(() => undefined);
}
