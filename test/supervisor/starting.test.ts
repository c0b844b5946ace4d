import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../src/engines/free-port.js';
import { fakeNvidiaSmi } from '../support/fake-nvidia-smi.js';
import { writePreset } from '../support/preset.js';
import { LAUNCHER, temporaryDirectory, testEnvironment } from '../support/serving.js';
import { until } from '../support/until.js';

const FAKE_SERVER = resolve(import.meta.dirname, '../support/fake-llama-server.js');

describe('while a driver keeps the start waiting', () => {
  it('requests wait for the models instead of being told that there are none, and serve says what it waits for', async () => {
    const directory = temporaryDirectory();
    const driver = dirname(fakeNvidiaSmi({ script: 'sleep 3; exit 1' }).file);
    const preset = writePreset({ a: { model: join(import.meta.dirname, 'starting.test.ts') } });
    const port = await freePort();
    const args = ['serve', '--port', String(port), '--llama-server', FAKE_SERVER, '--models-preset', preset];
    const env = { ...testEnvironment(directory), PATH: `${driver}:${process.env['PATH'] ?? ''}` };
    const child = spawn(process.execPath, [LAUNCHER, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (s: string) => (output += s));
    const ask = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);
    try {
      await until('it answers', async () => (await ask('/health').catch(() => null)) !== null);
      expect(output, 'it has not started yet').not.toContain('listens at');
      const asked = ['/v1/models/a', '/models', '/supervisor/state', '/slots?model=a'];
      const statuses = await Promise.all(asked.map(async (path) => `${path} ${(await ask(path)).status}`));
      expect(output).toContain('waits for the devices');
      expect(statuses.filter((said) => said.endsWith('404'))).toEqual([]);
      const listed = (await (await ask('/models')).json()) as { data: readonly { id: string }[] };
      expect(listed.data.map(({ id }) => id)).toEqual(['a']);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
});
