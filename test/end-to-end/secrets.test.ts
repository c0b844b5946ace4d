import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../../src/client/types.js';
import { descendants, serve, temporaryDirectory } from '../support/serving.js';
import { tinyGguf } from '../support/tiny-gguf.js';

const FAKE = resolve(import.meta.dirname, '../support/fake-llama-server.js');

/** None of them is a word that anything else could say. */
const SECRETS = { key: 'key-Zq81xvW', forAll: 'hf_ForAllQq7731', ofOne: 'hf_OfOneXx5528', quoted: 'hf_QuotedYy9914' };

const PRESET = (model: string): string => `
[plain]
model = ${model}
[own]
model = ${model}
hf-token = ${SECRETS.ofOne}
[quoted]
model = ${model}
HF_TOKEN = "${SECRETS.quoted}"
  hf-token = ${SECRETS.quoted}
`;

function filesBelow(directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

describe.runIf(process.platform === 'linux')('tokens and keys', () => {
  it('reach a child in its environment, and nobody else in any way', async () => {
    const directory = temporaryDirectory();
    const preset = join(directory, 'models.ini');
    const model = join(directory, 'm.gguf');
    writeFileSync(model, tinyGguf());
    writeFileSync(preset, PRESET(model));
    const flags = ['--api-key', SECRETS.key, '--hf-token', SECRETS.forAll, '--log-requests'];
    await using served = await serve('--llama-server', FAKE, '--models-preset', preset, ...flags);
    const headers = { authorization: `Bearer ${SECRETS.key}`, 'content-type': 'application/json' };
    const read = async (path: string): Promise<string> => (await fetch(served.url + path, { headers })).text();

    for (const id of ['plain', 'own']) {
      const body = JSON.stringify({ model: id, messages: [] });
      const reply = await fetch(`${served.url}/v1/chat/completions`, { method: 'POST', headers, body });
      expect(reply.status).toBe(200);
    }
    const { models } = JSON.parse(await read('/supervisor/state')) as Snapshot;
    const environmentOf = (id: string): readonly string[] =>
      readFileSync(`/proc/${models.find((one) => one.id === id)?.pid ?? 0}/environ`, 'utf8').split('\0');
    expect(environmentOf('plain')).toContain(`HF_TOKEN=${SECRETS.forAll}`);
    // The command line counts more than a section.
    expect(environmentOf('own')).toContain(`HF_TOKEN=${SECRETS.forAll}`);

    const events = await fetch(`${served.url}/supervisor/events`, { headers });
    const first = await events.body?.getReader().read();
    const said: Record<string, string> = {
      output: served.output(),
      events: Buffer.from(first?.value ?? []).toString(),
    };
    for (const path of [
      '/models',
      '/props',
      '/supervisor/state',
      '/supervisor/metrics',
      '/supervisor/logs?model=own',
    ]) {
      said[path] = await read(path);
    }
    const pid = served.process.pid ?? 0;
    const children = descendants(pid);
    expect(children.length).toBeGreaterThanOrEqual(2);
    for (const child of children) said[`arguments of ${child}`] = readFileSync(`/proc/${child}/cmdline`, 'utf8');
    served.process.kill('SIGTERM');
    await once(served.process, 'exit');
    const files = filesBelow(served.directory);
    expect(files.some((file) => /journal/u.test(file))).toBe(true);
    for (const file of files) said[file] = readFileSync(file, 'latin1');

    for (const [where, text] of Object.entries(said)) {
      for (const secret of Object.values(SECRETS)) expect(text, where).not.toContain(secret);
    }
    expect(said['output']).toMatch(/the quotes are part of the value of "HF_TOKEN": what is not shown/u);
  });
});
