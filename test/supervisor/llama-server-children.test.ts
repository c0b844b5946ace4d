import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MIB } from '../../src/scheduler/units.js';
import { writePreset } from '../support/preset.js';
import { serve, type Served } from '../support/serving.js';
import { tinyGguf } from '../support/tiny-gguf.js';

const SUPPORT = resolve(import.meta.dirname, '../support');
const LOGS = resolve(import.meta.dirname, '../fixtures/llama-server/memory');

const chat = (model: string): object => ({ model, messages: [{ role: 'user', content: 'hello' }] });

/** The real program with a fake llama-server, whose models have these options. */
function serveFake(
  fake: string,
  models: Readonly<Record<string, Readonly<Record<string, string | number>>>>,
): Promise<Served> {
  const directory = mkdtempSync(join(tmpdir(), 'llama-server-children-'));
  const model = join(directory, 'm.gguf');
  writeFileSync(model, tinyGguf());
  const sections = Object.entries(models).map(([id, options]) => [id, { model, ...options }] as const);
  const preset = writePreset(Object.fromEntries(sections));
  return serve('--llama-server', join(SUPPORT, fake), '--models-preset', preset);
}

describe('a child that says nothing of its memory in its messages', () => {
  it('is counted for what its log says, and so are devices that no probe sees', async () => {
    await using served = await serveFake('fake-llama-server.js', {
      a: { 'log-file': join(LOGS, 'two-devices.log') },
    });
    expect((await served.post('/v1/chat/completions', chat('a'))).status).toBe(200);
    const { models, devices } = await served.snapshot();
    const [a] = models;
    expect(a?.claimQuality).toBe('effective');
    expect(Math.round((a?.claim['CUDA0'] ?? 0) / MIB)).toBe(153);
    expect(Math.round((a?.claim['CUDA1'] ?? 0) / MIB)).toBe(112);
    const gpu = devices.find(({ name }) => name === 'CUDA0');
    expect(gpu).toMatchObject({ totalBytes: 600 * MIB, sampledAt: null });
    // What the log says to be free, before the load, is less than all of it: a context had been taken.
    expect(Math.round((gpu?.externalBytes ?? 0) / MIB)).toBe(200);

    const { data } = (await (await fetch(`${served.url}/models`)).json()) as { data: { memory: object }[] };
    expect(data[0]?.memory).toMatchObject({ effective: { n_ctx: 4096 }, context: null });
  });

  it('keeps the lines of its log', async () => {
    await using served = await serveFake('fake-llama-server.js', {
      a: { 'log-file': join(LOGS, 'one-device.log') },
    });
    await served.post('/v1/chat/completions', chat('a'));
    const response = await fetch(`${served.url}/supervisor/logs?model=a`);
    const { lines } = (await response.json()) as { lines: readonly string[] };
    expect(lines.filter((line) => line.includes('buffer size'))).toHaveLength(6);
  });
});

describe('a child that never says that it is ready', () => {
  it('is ready once it has answered for itself, and serves', async () => {
    await using served = await serveFake('fake-old-llama-server.js', { a: { 'slot-save-path': 300 } });
    const response = await served.post('/v1/chat/completions', chat('a'));
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok', url: '/v1/chat/completions' }]);
  });

  it('is not ready when it has died', async () => {
    await using served = await serveFake('fake-old-llama-server.js', { a: { 'slot-save-path': 0 } });
    const response = await served.post('/v1/chat/completions', chat('a'));
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('failed to load');
  });
});

describe('remote devices', () => {
  it('are named, since nobody sees how full they are, and reach the child as they were given', async () => {
    await using served = await serveFake('fake-llama-server.js', { a: { rpc: '10.0.0.2:50052,10.0.0.3:50052' } });
    const { supervisor } = await served.until('it knows its models', (now) => now.models.length > 0 && now);
    expect(supervisor.notices).toContain(
      'No probe sees the remote devices at 10.0.0.2:50052, 10.0.0.3:50052: they limit no load until a child has reported them.',
    );
    const seen = (await (await served.post('/tokenize', chat('a'))).json()) as { args: readonly string[] };
    expect(seen.args[seen.args.indexOf('--rpc') + 1]).toBe('10.0.0.2:50052,10.0.0.3:50052');
  });

  it('are known, and counted, once a child has reported them', async () => {
    const log = join(mkdtempSync(join(tmpdir(), 'remote-')), 'log');
    writeFileSync(
      log,
      [
        '0.00.01 I cmn  common_param:   - RPC0    : 10.0.0.2:50052 (8192 MiB, 8000 MiB free)',
        '0.00.02 I llama_prepare_model_devices: using device RPC0 (10.0.0.2:50052) (unknown id) - 8000 MiB free',
        '0.00.03 I load_tensors: RPC0[10.0.0.2:50052] model buffer size =  1000.00 MiB',
        '',
      ].join('\n'),
    );
    await using served = await serveFake('fake-llama-server.js', { a: { rpc: '10.0.0.2:50052', 'log-file': log } });
    expect((await served.post('/v1/chat/completions', chat('a'))).status).toBe(200);
    const { devices } = await served.snapshot();
    expect(devices.find(({ name }) => name === 'RPC0')).toMatchObject({
      kind: 'remote',
      totalBytes: 8192 * MIB,
      heldBytes: 1000 * MIB,
      externalBytes: 192 * MIB,
      freeBytes: 7000 * MIB,
    });
  });
});

describe('a llama-server that is to be put to sleep', () => {
  it('cannot be, and the refusal says what to do instead', async () => {
    await using served = await serveFake('fake-llama-server.js', {
      a: { 'log-file': join(LOGS, 'two-devices.log') },
    });
    expect((await served.post('/v1/chat/completions', chat('a'))).status).toBe(200);
    const refused = await served.post('/supervisor/park', { model: 'a' });
    expect(refused.status).toBe(409);
    const { error } = (await refused.json()) as { error: { message: string } };
    expect(error.message).toMatch(/cannot be put to sleep from outside: unload 'a' \(u\).*--sleep-idle-seconds/u);
    expect((await served.snapshot()).models[0]?.word).toBe('ready');
  });
});
