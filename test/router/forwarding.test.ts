import { request as httpRequest } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve, temporaryDirectory, type Served } from '../support/serving.js';
import { tinyGguf } from '../support/tiny-gguf.js';

const FAKE = resolve(import.meta.dirname, '../support/fake-llama-server.js');

/** What the child saw of a request. */
interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly string[];
  readonly body: string;
  readonly args: readonly string[];
  readonly env: readonly string[];
}

describe('forwarding to a child', () => {
  let served: Served;
  const KEY = 'a-very-secret-key';

  beforeAll(async () => {
    const directory = temporaryDirectory();
    for (const name of ['one', 'two words', 'short-lived']) writeFileSync(join(directory, `${name}.gguf`), tinyGguf());
    served = await serve(
      '--llama-server',
      FAKE,
      '--models-dir',
      directory,
      '--api-key',
      `other,${KEY}`,
      '--max-body',
      '1',
    );
  });
  afterAll(() => served[Symbol.asyncDispose]());

  const send = (path: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(served.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : new Uint8Array(body),
    });

  it('gives the child the body byte for byte, however it is written', async () => {
    const body = '{ "model" :\t"one",\r\n "x": 1.0e0, "x": "\\u20ac€", "big": 12345678901234567890 }';
    const seen = (await (await send('/v1/chat/completions?a=b%20c&autoload=true', body)).json()) as Seen;
    expect(Buffer.from(seen.body, 'base64').toString()).toBe(body);
    expect(seen.url).toBe('/v1/chat/completions?a=b%20c');
  });

  it('keeps keys and hop-by-hop headers to itself, and passes the rest on', async () => {
    const seen = (await (await send('/tokenize', '{"model":"one"}', { 'x-mine': 'yes' })).json()) as Seen;
    const names = seen.headers.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
    expect(names).toContain('x-mine');
    expect(names).not.toContain('authorization');
    expect(JSON.stringify(seen)).not.toContain(KEY);
    expect(seen.env).not.toContain('LLAMA_API_KEY');
    expect(seen.args.slice(-2)).toEqual(['--alias', 'one']);
  });

  it('gives the client every header once, and those that may come twice twice', async () => {
    const { headers } = await send('/tokenize', '{"model":"one"}');
    expect(headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(headers.get('x-hop')).toBeNull();
    expect(headers.get('access-control-allow-origin')).toBe('*');
  });

  it('sends a reply back byte for byte, in any encoding, chunk by chunk', async () => {
    const { hostname, port } = new URL(served.url);
    const chunks = await new Promise<Buffer[]>((done, failed) => {
      const received: Buffer[] = [];
      const headers = { authorization: `Bearer ${KEY}` };
      const asked = httpRequest({ hostname, port, path: '/v1/completions', method: 'POST', headers }, (response) => {
        expect(response.headers['content-encoding']).toBe('x-unknown');
        response.on('data', (chunk: Buffer) => received.push(chunk)).on('end', () => done(received));
      });
      asked.once('error', failed).end('{"model":"one"}');
    });
    expect(chunks.length, 'chunks are not gathered').toBeGreaterThan(1);
    expect(Buffer.concat(chunks)).toEqual(Buffer.from([...Array.from({ length: 256 }, (_, i) => i), 0xe2, 0x82, 0xac]));
  });

  it('finds the model in a multipart form, past an uploaded file of any content', async () => {
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array([0, 255, 13, 10, 13, 10])]), 'name="model".wav');
    form.set('model', 'two words');
    const reply = await fetch(`${served.url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { 'x-api-key': KEY },
      body: form,
    });
    expect(((await reply.json()) as Seen).args).toContain('two words');
  });

  it('says 502 with the reason when the child dies before its first byte', async () => {
    const reply = await send('/v1/embeddings', '{"model":"short-lived"}');
    expect(reply.status).toBe(502);
    expect(await reply.json()).toMatchObject({ error: { code: 'model_died', type: 'server_error' } });
  });

  it('ends a stream with an error event when the child dies in it', async () => {
    const body = JSON.stringify({ model: 'two words', prompt: 'die in the stream' });
    const text = await (await send('/v1/chat/completions', body)).text();
    expect(text).toMatch(/^data: \{"first":true\}\n\ndata: \{"error":\{"code":"model_died".*\}\n\n$/su);
  });

  it.each([
    { what: 'no key', status: 401, send: () => fetch(`${served.url}/v1/models`) },
    {
      what: 'a wrong key',
      status: 401,
      send: () => fetch(`${served.url}/v1/models`, { headers: { 'x-api-key': 'no' } }),
    },
    { what: 'a body that is no JSON', status: 400, send: () => send('/v1/completions', '{"model"') },
    { what: 'no model', status: 400, send: () => send('/v1/completions', '{}') },
    { what: 'an unknown model', status: 404, send: () => send('/v1/completions', '{"model":"onne"}') },
    { what: 'an unknown route', status: 404, send: () => send('/v1/nothing', '{}') },
    {
      what: 'a body that is too large',
      status: 413,
      send: () => send('/v1/completions', Buffer.alloc(1024 * 1024 + 1)),
    },
    { what: 'a read about a model that does not run', status: 503, send: () => get('/slots?model=short-lived') },
  ])('answers $what with $status, in the shape of the API', async ({ status, send: ask }) => {
    const reply = await ask();
    expect(reply.status).toBe(status);
    const { error } = (await reply.json()) as { error: Record<string, unknown> };
    expect([error['code'], error['message'], error['type']].map((part) => typeof part)).toEqual([
      'string',
      'string',
      'string',
    ]);
  });

  it('answers in the shape of Anthropic’s API on its route', async () => {
    const reply = await send('/v1/messages', '{"model":"nobody"}');
    expect(await reply.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } });
  });

  it('needs no key for its health, and answers preflight requests', async () => {
    expect(await (await fetch(`${served.url}/health`)).json()).toEqual({ status: 'ok' });
    const preflight = await fetch(`${served.url}/v1/chat/completions`, { method: 'OPTIONS' });
    expect(preflight.status).toBe(200);
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, POST, DELETE, OPTIONS');
  });

  it('shows one model by its id, and answers HEAD', async () => {
    expect(await (await get('/v1/models/two%20words')).json()).toMatchObject({ id: 'two words', object: 'model' });
    expect((await get('/v1/models/nobody')).status).toBe(404);
    const head = await fetch(`${served.url}/health`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('does not count a read as a use', async () => {
    await send('/tokenize', '{"model":"one"}');
    const lastUse = async (): Promise<unknown> => {
      const { models } = (await (await get('/supervisor/state')).json()) as {
        models: { id: string; lastUsedAt: number }[];
      };
      return models.find(({ id }) => id === 'one')?.lastUsedAt;
    };
    const before = await lastUse();
    expect((await get('/slots?model=one')).status).toBe(200);
    expect(await lastUse()).toBe(before);
  });

  const get = (path: string): Promise<Response> => fetch(served.url + path, { headers: { 'x-api-key': KEY } });
});
