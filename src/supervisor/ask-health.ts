import { request } from 'undici';
import type { Millis } from '../scheduler/units.js';

/** Whether a child answers on /health, whatever it says; it neither wakes for that nor counts it as work. */
export async function answersHealth(port: number, limitMillis: Millis): Promise<boolean> {
  try {
    const reply = await request(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(limitMillis) });
    await reply.body.dump();
    return true;
  } catch {
    return false;
  }
}
