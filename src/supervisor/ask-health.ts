import { request } from 'undici';
import type { Millis } from '../scheduler/units.js';

/** Whether a child answers on /health, whatever it says; it neither wakes for that nor counts it as work. */
export async function answersHealth(port: number, limitMillis: Millis): Promise<boolean> {
  return (await healthOf(port, limitMillis)) !== null;
}

/** The status with which a child answers on /health, 503 while it loads; null when it does not answer. */
export async function healthOf(port: number, limitMillis: Millis): Promise<number | null> {
  try {
    const reply = await request(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(limitMillis) });
    await reply.body.dump();
    return reply.statusCode;
  } catch {
    return null;
  }
}
