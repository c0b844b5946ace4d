import { hostname } from 'node:os';
import { join } from 'node:path';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulated } from '../support/preset.js';
import { sendRaw } from '../support/raw-http.js';
import { serve, temporaryDirectory, type Served } from '../support/serving.js';
import { until } from '../support/until.js';

const KEY = 'key-of-one';
const FILE_KEY = 'key-from-a-file';

describe('what guards a router', () => {
  let served: Served;
  let log: string;

  beforeAll(async () => {
    const directory = temporaryDirectory();
    log = join(directory, 'requests.jsonl');
    const keys = join(directory, 'keys');
    writeFileSync(keys, `\n${FILE_KEY}\r\nanother\n`);
    served = await serve(
      ...simulated('CUDA0=10GiB', {
        small: { 'sim-size': '1GiB', 'sim-load-seconds': 0 },
        huge: { 'sim-size': '90GiB' },
      }),
      ...['--api-key', KEY, '--api-key-file', keys, '--log-requests', log, '--cors-origins', 'localhost'],
    );
  });
  afterAll(() => served[Symbol.asyncDispose]());

  const ask = (
    path: string,
    {
      headers = {},
      ...init
    }: { method?: string; body?: string; headers?: Record<string, string>; signal?: AbortSignal } = {},
    key: string | null = KEY,
  ): Promise<Response> =>
    fetch(served.url + path, { ...init, headers: { ...(key === null ? {} : { 'x-api-key': key }), ...headers } });

  it.each([KEY, FILE_KEY, 'another'])('lets in whoever has a key: %s', async (key) => {
    expect((await ask('/v1/models', {}, key)).status).toBe(200);
    expect((await ask('/v1/models', { headers: { authorization: `bearer ${key}` } }, null)).status).toBe(200);
  });

  it.each(['/v1/models', '/models/sse', '/supervisor/state', '/supervisor/metrics', '/nothing', '/props'])(
    'shows nothing of %s without one',
    async (path) => {
      const reply = await ask(path, {}, `${KEY}x`);
      expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      await reply.text();
    },
  );

  it('refuses an upgrade without a key', async () => {
    const head = 'GET /x?model=small HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    expect(await (await sendRaw(served.url, head)).closed()).toMatch(/^HTTP\/1\.1 401 /u);
  });

  it('takes commands as JSON only, which no page can send by itself', async () => {
    const form = { method: 'POST', body: '{"model":"small"}', headers: { 'content-type': 'text/plain' } };
    expect((await ask('/supervisor/unload', form)).status).toBe(415);
    const preflight = await ask('/supervisor/unload', { method: 'OPTIONS' }, null);
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
  });

  it.each([
    ['127.0.0.1:1', 200],
    ['[::1]', 200],
    ['localhost:8080', 200],
    ['a.localhost', 200],
    [`${hostname()}:80`, 200],
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['', 403],
  ])(
    'says %s to the supervisor with the status %i, since a page may have its name point here',
    async (host, status) => {
      const head = `GET /supervisor/plan?model=small HTTP/1.1\r\nHost: ${host}\r\nX-Api-Key: ${KEY}\r\nConnection: close\r\n\r\n`;
      expect(await (await sendRaw(served.url, head)).closed()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `, 'u'));
    },
  );

  it.each([
    ['http://localhost:3000', 'http://localhost:3000'],
    ['https://evil.example', null],
    ['http://localhost.evil.example', null],
  ])('lets pages of %s read what --cors-origins says', async (origin, allowed) => {
    const { headers } = await ask('/health', { headers: { origin } }, null);
    expect(headers.get('access-control-allow-origin')).toBe(allowed);
  });

  it('never tells when to ask again for what can never be', async () => {
    const reply = await ask('/v1/completions', { method: 'POST', body: '{"model":"huge"}' });
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, null]);
    expect(await reply.json()).toMatchObject({ error: { code: 'model_too_large', decision: { kind: 'refuse' } } });
  });

  it('shows no key and no prompt in log, metrics, state or errors', async () => {
    const secret = 'the-secret-prompt';
    const body = JSON.stringify({ model: 'small', max_tokens: 1, messages: [{ role: 'user', content: secret }] });
    const reply = await ask(`/v1/chat/completions?token=${secret}&autoload=true`, { method: 'POST', body });
    expect(reply.status).toBe(200);
    await reply.text();
    const wrong = await ask('/v1/chat/completions', { method: 'POST', body: `{"model":"small","x":${secret}}` });
    const texts = [
      await wrong.text(),
      await (await ask('/supervisor/metrics')).text(),
      JSON.stringify(await (await ask('/supervisor/state')).json()),
      await until('the request is in the log', () => {
        const text = readFileSync(log, 'utf8');
        return Promise.resolve(text.includes('"status":400') ? text : null);
      }),
    ];
    for (const text of texts) {
      for (const hidden of [secret, KEY, FILE_KEY]) expect(text).not.toContain(hidden);
    }
    const lines = (texts[3] ?? '')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.find(({ model, status }) => model === 'small' && status === 200)).toMatchObject({
      method: 'POST',
      path: '/v1/chat/completions',
      query: 'token=…&autoload=true',
      aborted: false,
      request: expect.stringMatching(/^r\d+$/u) as string,
      bodyBytes: body.length,
    });
  });

  it('tells Prometheus what there is, by devices and models only', async () => {
    await (await ask('/v1/made-up/path', { method: 'POST', body: '{"model":"made-up"}' })).text();
    const text = await (await ask('/supervisor/metrics')).text();
    const value = (series: string): number => {
      const line = text.split('\n').find((each) => each.startsWith(`${series} `));
      expect(line, series).toBeDefined();
      return Number(line?.split(' ').at(-1));
    };
    const parts = ['held', 'reserved', 'external', 'free'].map((part) =>
      value(`llm_tui_device_memory_bytes{device="CUDA0",part="${part}"}`),
    );
    expect(parts.reduce((sum, part) => sum + part)).toBe(value('llm_tui_device_memory_total_bytes{device="CUDA0"}'));
    expect(value('llm_tui_model_state{model="small",state="ready"}')).toBe(1);
    expect(value('llm_tui_model_loads_total{model="small",outcome="ready"}')).toBe(1);
    expect(value('llm_tui_model_load_seconds_count')).toBe(1);
    expect(value('llm_tui_http_requests_total{model="small",status="2xx"}')).toBeGreaterThan(0);
    expect(value('llm_tui_queue_length')).toBe(0);
    expect(text).not.toContain('made-up');
    expect(text).toMatch(/^# HELP llm_tui_request_wait_seconds .*\n# TYPE llm_tui_request_wait_seconds histogram$/mu);
  });

  it('follows the lines of a model as they come', async () => {
    const controller = new AbortController();
    const reply = await ask('/supervisor/logs?model=small&follow=1', { signal: controller.signal });
    expect(reply.headers.get('content-type')).toBe('text/event-stream');
    const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const reads = async (pattern: RegExp): Promise<void> => {
      while (!pattern.test(text)) text += (await reader?.read())?.value ?? '';
    };
    await reads(/data: \{"line":/u);
    const before = text.length;
    const body = JSON.stringify({ model: 'small' });
    const json = { 'content-type': 'application/json' };
    await (await ask('/supervisor/unload', { method: 'POST', body, headers: json })).text();
    await (await ask('/v1/completions', { method: 'POST', body: '{"model":"small","max_tokens":1}' })).text();
    await until('a later line comes', async () => {
      await reads(new RegExp(`^.{${before}}.*data: `, 'su'));
      return true;
    });
    controller.abort();
  });
});
