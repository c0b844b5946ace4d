import { request } from 'undici';

/**
 * Wakes a child that sleeps: any work does it, and turning no text into tokens is the least there is. The child says
 * `ready` when it is back. A child that cannot be reached is about to be seen to exit, so failures are left alone.
 */
export function wakeChild(port: number): void {
  const asked = request(`http://127.0.0.1:${port}/tokenize`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"content":""}',
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  void asked.then((reply) => reply.body.dump()).catch(() => undefined);
}
