import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { freePort } from '../../src/engines/free-port.js';
import { fakeNvidiaSmi } from '../support/fake-nvidia-smi.js';
import { LAUNCHER, temporaryDirectory, testEnvironment } from '../support/serving.js';
import { tinyGguf } from '../support/tiny-gguf.js';
import { until } from '../support/until.js';

const FAKE = resolve(import.meta.dirname, '../support/fake-llama-server.js');

it.runIf(process.platform === 'linux')(
  'requests that come as soon as it listens wait until it knows its models, and are served',
  async () => {
    const directory = temporaryDirectory();
    const port = await freePort();
    for (const name of ['early', 'other']) writeFileSync(join(directory, `${name}.gguf`), tinyGguf());
    const models = ['--llama-server', FAKE, '--models-dir', directory];
    const args = ['serve', '--state-dir', join(directory, 'state'), '--port', String(port), ...models];
    // The first look at the devices takes a while.
    const slow = dirname(fakeNvidiaSmi({ script: 'sleep 0.7; echo No devices were found; exit 6' }).file);
    const env = { ...testEnvironment(directory), PATH: [slow, process.env['PATH'] ?? ''].join(delimiter) };
    const child = spawn(process.execPath, [LAUNCHER, ...args], { env, stdio: 'ignore' });
    const url = `http://127.0.0.1:${port}`;
    const post = (path: string, model: string): Promise<Response> =>
      fetch(url + path, { method: 'POST', body: JSON.stringify({ model, messages: [], max_tokens: 1 }) });
    try {
      const health = await until('it accepts a connection', () => fetch(`${url}/health`).catch(() => null));
      const [load, list, chat] = await Promise.all([
        post('/models/load', 'other'),
        fetch(`${url}/v1/models`),
        post('/v1/chat/completions', 'early'),
      ]);
      expect([health.status, load.status, list.status, chat.status]).toEqual([503, 200, 200, 200]);
      expect(await list.json()).toMatchObject({ data: [{ id: 'early' }, { id: 'other' }] });
      expect((await fetch(`${url}/health`)).status).toBe(200);
    } finally {
      child.kill('SIGTERM');
      await once(child, 'exit');
      rmSync(directory, { recursive: true, force: true });
    }
  },
);
