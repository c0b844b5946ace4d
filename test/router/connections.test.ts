import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { sendRaw, rawPost } from '../support/raw-http.js';
import { serve, temporaryDirectory, type Served } from '../support/serving.js';
import { tinyGguf } from '../support/tiny-gguf.js';
import { until } from '../support/until.js';

const CHILD = resolve(import.meta.dirname, '../support/harsh-child.js');
const MIB = 1024 * 1024;

/** What the child has seen so far. */
interface Seen {
  readonly answered: number;
  readonly dropped: number;
  readonly floodedBytes: number;
  readonly flooding: number;
  readonly waiting: number;
  readonly upgrades: number;
  readonly headers: readonly string[];
}

describe('connections to a child and from clients', () => {
  let served: Served;
  let seen: () => Promise<Seen>;

  beforeAll(async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'one.gguf'), tinyGguf());
    writeFileSync(join(directory, 'two.gguf'), tinyGguf());
    served = await serve('--llama-server', CHILD, '--models-dir', directory);
    seen = async () => (await (await fetch(`${served.url}/slots?model=one`)).json()) as Seen;
    await served.post('/models/load', { model: 'one' });
    await served.until('it is up', ({ models }) => models.find(({ id, word }) => id === 'one' && word === 'ready'));
  });
  afterAll(() => served[Symbol.asyncDispose]());

  const inFlight = (): Promise<unknown> =>
    served.until(
      'nothing is in flight',
      ({ models, queue }) => queue.length === 0 && models.every((m) => m.requests === 0),
    );

  it('answers when the child closes a kept connection just as it is written to', async () => {
    const statuses: number[] = [];
    for (let round = 0; round < 40; round += 1) {
      const replies = await Promise.all([1, 2, 3, 4, 5].map(() => served.post('/tokenize', { model: 'one' })));
      statuses.push(...replies.map(({ status }) => status));
      await Promise.all(replies.map((reply) => reply.text()));
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect((await seen()).dropped, 'connections were kept, and dropped by the child').toBeGreaterThan(10);
  });

  it('reads no faster from a child than the client does', async () => {
    const slow = await sendRaw(served.url, rawPost('/v1/completions', '{"model":"one"}'));
    slow.socket.pause();
    let last = -1;
    await until('the child has to wait', async () => {
      const { floodedBytes } = await seen();
      const stopped = floodedBytes === last;
      last = floodedBytes;
      await new Promise((done) => setTimeout(done, 300));
      return stopped;
    });
    expect(last, 'what lies between child and client').toBeLessThan(64 * MIB);
    slow.socket.resume();
    await until('it goes on', async () => (await seen()).floodedBytes > last + 8 * MIB);
    slow.socket.destroy();
    await until('the child knows that its client has gone', async () => (await seen()).flooding === 0);
    await inFlight();
  });

  it('ends the request of the child when the client goes before the first byte', async () => {
    const waiting = await sendRaw(served.url, rawPost('/detokenize', '{"model":"one"}'));
    await until('the child has it', async () => (await seen()).waiting === 1);
    waiting.socket.destroy();
    await until('the child has lost it', async () => (await seen()).waiting === 0);
    await inFlight();
  });

  it('carries a body of 60 MiB both byte for byte and without a length', async () => {
    const image = randomBytes(45 * MIB).toString('base64');
    const body = `{"image":"${image}","model":"one"}`;
    const hash = createHash('sha256').update(body).digest('hex');
    const chunked = httpRequest(`${served.url}/v1/embeddings`, { method: 'POST' });
    for (let at = 0; at < body.length; at += MIB) chunked.write(body.slice(at, at + MIB));
    chunked.end();
    const [reply] = (await once(chunked, 'response')) as [IncomingMessage];
    const text = (await reply.setEncoding('utf8').toArray()).join('');
    expect(JSON.parse(text)).toMatchObject({ bytes: body.length, hash });
  });

  it('refuses a body that is too large before it is sent', async () => {
    const head = `POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Length: ${65 * MIB}\r\nExpect: 100-continue\r\n\r\n`;
    const { until: comes, socket } = await sendRaw(served.url, head);
    expect(await comes(/\r\n\r\n\{.*\}$/su)).toMatch(/^HTTP\/1\.1 413 .*body_too_large/su);
    socket.destroy();
  });

  it('tells a client that waits for it to go on, and only then reads', async () => {
    const body = '{"model":"one"}';
    const head = `POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`;
    const { until: comes, socket } = await sendRaw(served.url, head);
    await comes(/^HTTP\/1\.1 100 Continue\r\n\r\n$/u);
    socket.write(body);
    await comes(/HTTP\/1\.1 200 OK/u);
    expect((await seen()).headers.map((header) => header.toLowerCase())).not.toContain('expect');
    socket.destroy();
  });

  it('answers 415 to a compressed body, as a llama-server without zlib does', async () => {
    const body = new Uint8Array(gzipSync('{"model":"one"}'));
    const reply = await fetch(`${served.url}/v1/embeddings`, {
      method: 'POST',
      headers: { 'content-encoding': 'gzip' },
      body,
    });
    expect(reply.status).toBe(415);
    expect(await reply.json()).toMatchObject({ error: { code: 'unsupported_encoding' } });
  });

  it('passes trailers on', async () => {
    const { until: comes, socket } = await sendRaw(served.url, rawPost('/v1/responses', '{"model":"one"}'));
    const text = await comes(/\r\n0\r\n.*\r\n\r\n$/su);
    expect(text).toMatch(/trailer: X-Digest/iu);
    expect(text).toMatch(/\r\n0\r\nx-digest: abc\r\n\r\n$/iu);
    socket.destroy();
  });

  it('answers requests that were sent behind each other on one connection in their order', async () => {
    const body = '{"model":"one"}';
    const bytes = `${rawPost('/v1/embeddings', body)}${rawPost('/v1/nothing', body)}${rawPost('/v1/embeddings', body)}`;
    const { until: comes, socket } = await sendRaw(served.url, bytes);
    const text = await comes(/(?:HTTP\/1\.1 .*?\r\n\r\n\{.*?\}){3}/su);
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/gu)].map(([, status]) => status)).toEqual(['200', '404', '200']);
    socket.destroy();
  });

  it.each([
    { what: 'that is no HTTP', bytes: 'hello\r\n\r\n', status: 400 },
    { what: 'with headers without end', bytes: `GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}`, status: 431 },
    {
      what: 'with two lengths',
      bytes: 'POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}',
      status: 400,
    },
    {
      what: 'with a length and chunks',
      bytes: 'POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      status: 400,
    },
  ])('answers a request $what with $status and an error of the API', async ({ bytes, status }) => {
    const text = await (await sendRaw(served.url, bytes)).closed();
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*\\{"error":\\{"code":"bad_request"`, 'su'));
  });

  describe('upgrades', () => {
    const ask = (model: string): string =>
      `GET /any/path?model=${model}&autoload=true HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Api-Key: secret\r\nX-Mine: yes\r\n\r\n`;

    it('carry bytes both ways and keep the model in use until they end', async () => {
      const { until: comes, socket } = await sendRaw(served.url, ask('one'));
      await comes(/^HTTP\/1\.1 101 .*\r\n\r\n$/su);
      socket.write(Buffer.from([97, 98, 255]));
      await comes(/\r\n\r\nab\u00ff$/su);
      await served.until('it is in use', ({ models }) =>
        models.find(({ id, requests }) => id === 'one' && requests === 1),
      );
      const { headers } = await seen();
      expect(headers).toContain('X-Mine');
      expect(JSON.stringify(headers)).not.toContain('secret');
      socket.destroy();
      await inFlight();
      await until('the child knows', async () => (await seen()).upgrades === 0);
    });

    it('are WebSockets to those who speak it, with messages of any size', async () => {
      const webSocket = new WebSocket(`${served.url.replace('http', 'ws')}/ws?model=one`, { perMessageDeflate: true });
      await once(webSocket, 'open');
      const sent = randomBytes(3 * MIB);
      webSocket.send(sent);
      const [received] = (await once(webSocket, 'message')) as [Buffer];
      expect(received.equals(sent)).toBe(true);
      webSocket.close(4000, 'enough');
      const [code] = (await once(webSocket, 'close')) as [number];
      expect(code).toBe(4000);
      await inFlight();
    });

    it('load their model, and end with its process', async () => {
      const connection = await sendRaw(served.url, ask('two'));
      await connection.until(/^HTTP\/1\.1 101 .*\r\n\r\n$/su);
      connection.socket.write('die');
      await connection.closed();
      await inFlight();
    });

    it('are refused in the words of the API', async () => {
      const text = await (await sendRaw(served.url, ask('nobody'))).closed();
      expect(text).toMatch(/^HTTP\/1\.1 404 Not Found\r\n.*"model_not_found"/su);
    });
  });

  it('is left by clients of every kind without a trace', async () => {
    const { hostname, port } = new URL(served.url);
    const pieces = [
      '',
      'POST /tok',
      rawPost('/tokenize', '{"model":"one"}').slice(0, -5),
      rawPost('/detokenize', '{"model":"one"}'),
    ];
    await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const socket = connect({ host: hostname, port: Number(port) });
        await once(socket, 'connect');
        socket.write(pieces[index % pieces.length] ?? '');
        await new Promise((done) => setTimeout(done, index % 40));
        socket.destroy();
      }),
    );
    await inFlight();
    await until('the child has nothing left', async () => (await seen()).waiting === 0);
    expect((await served.post('/v1/embeddings', { model: 'one' })).status).toBe(200);
  });
});
