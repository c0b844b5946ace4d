import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { get as getSecurely } from 'node:https';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { LAUNCHER, runProgram, serve, serveIn, temporaryDirectory, testEnvironment } from '../support/serving.js';
import { writePreset } from '../support/preset.js';
import { tinyGguf } from '../support/tiny-gguf.js';

const FAKE = resolve(import.meta.dirname, '../support/fake-llama-server.js');
const KEY_FILE = resolve(import.meta.dirname, '../fixtures/tls/key.pem');
const CERT_FILE = resolve(import.meta.dirname, '../fixtures/tls/cert.pem');
const SIM = ['--engine', 'sim', '--sim-devices', 'CUDA0=8GiB'];

const simModel = (): string => writePreset({ alpha: { 'sim-size': '1GiB' } });

/** A directory with a page in it, and a secret beside it. */
function page(): string {
  const outside = temporaryDirectory();
  const directory = join(outside, 'page');
  mkdirSync(join(directory, 'deep'), { recursive: true });
  writeFileSync(join(outside, 'secret.txt'), 'secret');
  writeFileSync(join(directory, '.hidden'), 'secret');
  writeFileSync(join(directory, 'index.html'), '<!doctype html><title>page</title>');
  writeFileSync(join(directory, 'app.js'), 'export const answer = 42;\n');
  writeFileSync(join(directory, 'a b.css'), 'a{}');
  writeFileSync(join(directory, 'empty.wasm'), '');
  writeFileSync(join(directory, 'deep', 'index.html'), 'deep');
  return directory;
}

/** The target reaches the server as it is written; `fetch` would straighten it. */
function rawGet(url: string, target: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((done, failed) => {
    get({ hostname, port, path: target }, (reply) => void textOf(reply).then(done, failed)).once('error', failed);
  });
}

async function textOf(reply: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of reply.setEncoding('utf8')) text += String(chunk);
  return `${reply.statusCode ?? 0} ${text}`;
}

describe('the files of --path', () => {
  it('are a page beside the API, with their types, for everybody', async () => {
    await using served = await serve(...SIM, '--models-preset', simModel(), '--path', page(), '--api-key', 'k');
    const at = async (path: string): Promise<readonly [number, string | null, string]> => {
      const reply = await fetch(served.url + path);
      return [reply.status, reply.headers.get('content-type'), await reply.text()];
    };
    expect(await at('/')).toEqual([200, 'text/html; charset=utf-8', '<!doctype html><title>page</title>']);
    expect(await at('/app.js')).toEqual([200, 'text/javascript; charset=utf-8', 'export const answer = 42;\n']);
    expect(await at('/a%20b.css?v=1')).toEqual([200, 'text/css; charset=utf-8', 'a{}']);
    expect(await at('/empty.wasm')).toEqual([200, 'application/wasm', '']);
    expect(await at('/deep')).toEqual([200, 'text/html; charset=utf-8', 'deep']);
    expect((await at('/nothing'))[0]).toBe(404);
    expect((await at('/v1/models'))[0]).toBe(401);
    expect((await at('/supervisor/state'))[0]).toBe(401);
    const head = await fetch(`${served.url}/app.js`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '26', '']);
    expect((await fetch(`${served.url}/app.js`, { method: 'POST' })).status).toBe(401);
  });

  it('are sent again only when they have changed', async () => {
    const directory = page();
    await using served = await serve(...SIM, '--models-preset', simModel(), '--path', directory);
    const first = await fetch(`${served.url}/app.js`);
    await first.text();
    expect(first.headers.get('cache-control')).toBe('no-cache');
    const tag = first.headers.get('etag') ?? '';
    const modified = first.headers.get('last-modified') ?? '';
    const again = (headers: Record<string, string>): Promise<Response> => fetch(`${served.url}/app.js`, { headers });
    expect((await again({ 'if-none-match': `"other", ${tag}` })).status).toBe(304);
    expect((await again({ 'if-modified-since': modified })).status).toBe(304);
    writeFileSync(join(directory, 'app.js'), 'changed');
    const changed = await again({ 'if-none-match': tag });
    expect([changed.status, await changed.text()]).toEqual([200, 'changed']);
  });

  it('are those below the directory, however a path is written', async () => {
    await using served = await serve(...SIM, '--models-preset', simModel(), '--path', page());
    const targets = [
      ...['/../secret.txt', '/deep/../../secret.txt', '/%2e%2e/secret.txt', '/..%2fsecret.txt', '/..%5csecret.txt'],
      ...['//../secret.txt', '/.hidden', '/%00', '/app.js%00.html', '/%', '/deep/%2e%2e/%2e%2e/secret.txt'],
    ];
    for (const target of targets) {
      const text = await rawGet(served.url, target);
      expect(text, target).toMatch(/^404 /u);
      expect(text, target).not.toContain('secret"');
    }
  });

  it('must be in a directory', async () => {
    const { code, stderr } = await runProgram(['serve', '--path', CERT_FILE], temporaryDirectory());
    expect(code).toBe(2);
    expect(stderr).toMatch(/^llm-tui: --path \S+ is no directory\.\n$/u);
  });
});

describe("llama-server's own page", () => {
  it('comes from a model that runs, and loads none', async () => {
    const directory = temporaryDirectory();
    const model = join(directory, 'm.gguf');
    writeFileSync(model, tinyGguf());
    const settings = ['--ui-config', '{"theme":"dark"}'];
    await using served = await serve(
      ...['--llama-server', FAKE, '--models-preset', writePreset({ alpha: { model } }), '--api-key', 'k', ...settings],
    );
    const none = await fetch(`${served.url}/`);
    expect(none.status).toBe(404);
    expect(await none.json()).toMatchObject({ error: { code: 'no_page', message: /load one first/u } });
    const headers = { authorization: 'Bearer k', 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'alpha', messages: [] });
    await (await fetch(`${served.url}/v1/chat/completions`, { method: 'POST', headers, body })).text();
    const seen = async (path: string): Promise<string> => {
      const reply = await fetch(served.url + path, { headers: { 'if-none-match': 'x' } });
      return reply.ok ? ((await reply.json()) as { url: string }).url : String(reply.status);
    };
    expect(await seen('/')).toBe('/');
    expect(await seen('/_app/immutable/chunk.js?v=2')).toBe('/_app/immutable/chunk.js?v=2');
    expect(await seen('/bundle.css')).toBe('/bundle.css');
    // What is no part of a page needs the key, and is no route then.
    expect(await seen('/slots/../secret')).toBe('401');
    expect(await seen('/anything')).toBe('401');
    const props = await fetch(`${served.url}/props`, { headers });
    expect(await props.json()).toMatchObject({ role: 'router', ui_settings: { theme: 'dark' } });
  });
});

describe('--api-prefix', () => {
  it('stands before every path, and before nothing that a model or the socket sees', async () => {
    const directory = temporaryDirectory();
    const model = join(directory, 'm.gguf');
    writeFileSync(model, tinyGguf());
    const preset = writePreset({ alpha: { model } });
    await using served = await serve('--llama-server', FAKE, '--models-preset', preset, '--api-prefix', '/llm/');
    expect(served.url).toMatch(/\/llm$/u);
    const { origin } = new URL(served.url);
    expect((await fetch(`${served.url}/health`)).status).toBe(200);
    expect((await fetch(`${origin}/health`)).status).toBe(404);
    expect((await fetch(`${origin}/llmx/health`)).status).toBe(404);
    const outside = await fetch(`${origin}/v1/models`);
    expect(await outside.json()).toMatchObject({ error: { message: 'the routes of this router begin with /llm/' } });
    const reply = await served.post('/v1/chat/completions?x=1', { model: 'alpha' });
    expect(await reply.json()).toMatchObject({ url: '/v1/chat/completions?x=1' });
    const listed = await promisify(execFile)(process.execPath, [LAUNCHER, 'ps', '--state-dir', served.stateDirectory], {
      env: testEnvironment(served.directory),
    });
    expect(listed.stdout).toContain('alpha');
    const byUrl = await runProgram(['ps', '--url', served.url], temporaryDirectory());
    expect(byUrl.stdout).toContain('alpha');
  });

  it('begins with a slash', async () => {
    const { code, stderr } = await runProgram(['serve', '--api-prefix', 'llm'], temporaryDirectory());
    expect([code, stderr]).toEqual([
      2,
      "llm-tui: --api-prefix takes a path that begins with a slash, like /llm, not 'llm'.\n",
    ]);
  });
});

describe('TLS', () => {
  const tls = ['--ssl-key-file', KEY_FILE, '--ssl-cert-file', CERT_FILE];

  it('is spoken with the key and certificate that are given, upgrades included', async () => {
    await using served = await serve(...SIM, '--models-preset', simModel(), ...tls);
    expect(served.url).toMatch(/^https:/u);
    const ca = readFileSync(CERT_FILE);
    const health = await new Promise<string>((done, failed) => {
      getSecurely(`${served.url}/health`, { ca }, (reply) => void textOf(reply).then(done, failed)).once(
        'error',
        failed,
      );
    });
    expect(health).toBe('200 {"status":"ok"}');
    await expect(fetch(`${served.url.replace('https', 'http')}/health`)).rejects.toThrow();
    // A model that is not there is told in HTTP, within TLS.
    const socket = new WebSocket(`${served.url.replace('https', 'wss')}/v1/realtime?model=none`, { ca });
    const status = await new Promise((done) => {
      socket.once('unexpected-response', (_request, reply: IncomingMessage) => done(reply.statusCode));
    });
    expect(status).toBe(404);
    const { stdout } = await runProgram(['ps', '--url', served.url, '--json'], temporaryDirectory(), {
      NODE_EXTRA_CA_CERTS: CERT_FILE,
    });
    expect(stdout).toContain('"alpha"');
  });

  it('needs both, and both must fit', async () => {
    const ended = async (...flags: readonly string[]): Promise<string> =>
      (await runProgram(['serve', ...SIM, ...flags], temporaryDirectory())).stderr;
    expect(await ended('--ssl-key-file', KEY_FILE)).toMatch(/^llm-tui: --ssl-cert-file is missing: TLS needs/u);
    expect(await ended('--ssl-key-file', CERT_FILE, '--ssl-cert-file', CERT_FILE)).toMatch(
      /^llm-tui: TLS cannot be spoken/u,
    );
    expect(await ended('--ssl-key-file', '/none', '--ssl-cert-file', CERT_FILE)).toMatch(
      /--ssl-key-file \/none cannot be read/u,
    );
  });
});

describe.runIf(process.platform === 'linux')('--reuse-port', () => {
  it('lets two routers listen on one port, where both say so', async () => {
    await using first = await serve(...SIM, '--models-preset', simModel(), '--reuse-port');
    const { port } = new URL(first.url);
    await using second = await serveIn(temporaryDirectory(), [
      ...[...SIM, '--models-preset', simModel(), '--port', port, '--reuse-port'],
    ]);
    expect(second.url).toBe(first.url);
    const third = await runProgram(['serve', ...SIM, '--port', port], temporaryDirectory());
    expect(third.stderr).toMatch(/is in use by another program/u);
  });
});
