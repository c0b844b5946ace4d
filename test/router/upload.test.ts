import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { serve, temporaryDirectory } from '../support/serving.js';
import { tinyGguf } from '../support/tiny-gguf.js';

const FAKE = resolve(import.meta.dirname, '../support/fake-llama-server.js');
const FILE_BYTES = 30 * 1024 * 1024;
const hasCurl = spawnSync('curl', ['--version']).status === 0;

it.runIf(hasCurl)('a file of 30 MiB that curl uploads in a form comes to the child byte for byte', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'hears.gguf'), tinyGguf());
  await using served = await serve('--llama-server', FAKE, '--models-dir', directory, '--max-body', '64');
  const sound = randomBytes(FILE_BYTES);
  const path = join(served.directory, 'sound.wav');
  writeFileSync(path, sound);
  const url = `${served.url}/v1/audio/transcriptions`;
  // The model's name comes behind the file.
  const form = ['-F', `file=@${path};type=audio/wav`, '-F', 'model=hears'];
  const { stdout } = await execa('curl', ['-sS', '--fail-with-body', ...form, url], { maxBuffer: 4 * FILE_BYTES });
  const seen = JSON.parse(stdout) as { url: string; headers: string[]; body: string };
  const body = Buffer.from(seen.body, 'base64');
  const at = body.indexOf('\r\n\r\n') + 4;
  expect(seen.url).toBe('/v1/audio/transcriptions');
  expect(sound.equals(body.subarray(at, at + FILE_BYTES))).toBe(true);
  const type = seen.headers[seen.headers.findIndex((name) => name.toLowerCase() === 'content-type') + 1] ?? '';
  const boundary = /boundary=(\S+)/u.exec(type)?.[1] ?? '';
  expect(body.subarray(0, boundary.length + 2).toString()).toBe(`--${boundary}`);
  expect(body.subarray(at + FILE_BYTES).toString()).toContain('name="model"\r\n\r\nhears\r\n');
  expect(body.toString('latin1', body.length - boundary.length - 6)).toBe(`--${boundary}--\r\n`);
});
