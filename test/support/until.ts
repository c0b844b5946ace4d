import { readFileSync } from 'node:fs';

const POLL_MILLIS = 10;
const LIMIT_MILLIS = 20_000;

/** Waits until the condition gives something other than false, null or undefined, and returns it. */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  limitMillis: number = LIMIT_MILLIS,
): Promise<Exclude<T, false | null | undefined>> {
  const limit = Date.now() + limitMillis;
  for (;;) {
    const value = await condition();
    if (value !== false && value !== null && value !== undefined) return value as Exclude<T, false | null | undefined>;
    if (Date.now() > limit) throw new Error(`Waited ${limitMillis} ms in vain until ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLIS));
  }
}

/** True while the process runs. One that has ended and waits for its parent to notice (Linux) does not run. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
