import { request } from 'node:http';
import { expect, it } from 'vitest';
import { simulated } from '../support/preset.js';
import { serve } from '../support/serving.js';

/** What clients send that would rather speak HTTP/2: Java's own, and `curl --http2`. */
const OFFER = {
  connection: 'Upgrade, HTTP2-Settings',
  upgrade: 'h2c',
  'http2-settings': 'AAMAAABkAAQCAAAAAAIAAAAA',
  'content-type': 'application/json',
};

function statusOf(url: string, method: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      { method, headers: { ...OFFER, 'content-length': Buffer.byteLength(body) } },
      (reply) => {
        reply.resume();
        reply.once('end', () => resolve(reply.statusCode ?? 0));
      },
    );
    asked.once('error', reject).end(body);
  });
}

it('a request that offers HTTP/2 is answered as if it had not', async () => {
  await using served = await serve(...simulated('CUDA0=8GiB', { model: { 'sim-size': '1GiB' } }));
  const chat = JSON.stringify({ model: 'model', messages: [], max_tokens: 1 });
  expect(await statusOf(`${served.url}/health`, 'GET', '')).toBe(200);
  expect(await statusOf(`${served.url}/v1/models`, 'GET', '')).toBe(200);
  expect(await statusOf(`${served.url}/v1/chat/completions`, 'POST', chat)).toBe(200);
  expect(await statusOf(`${served.url}/supervisor/state`, 'GET', '')).toBe(200);
});
