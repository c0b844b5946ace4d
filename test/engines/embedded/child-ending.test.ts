import { once } from 'node:events';
import { mkdtemp, open, rm, truncate, writeFile, copyFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeSampleModels } from '../../../src/catalog/sample-models/sample-models.js';
import { entryFor, isReady, startChild } from './embedded-child.js';

let directory: string;
let small: string;
let large: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'llm-tui-ending-'));
  [small = '', , large = ''] = await writeSampleModels(directory);
});
afterAll(() => rm(directory, { recursive: true }));

describe('a child that is asked to leave', () => {
  it('exits with 0 when told on stdin, even while it answers', async () => {
    await using child = await startChild(entryFor(small));
    await child.until(isReady);
    const streamed = await child.post('/v1/completions', { prompt: 'the', max_tokens: -1, stream: true });
    child.askToExit();
    expect(await child.ended).toMatchObject({ exitCode: 0, signal: null });
    await expect(streamed.text()).rejects.toThrow();
  });

  it('exits with 0 on SIGTERM while it loads', async () => {
    await using child = await startChild(entryFor(large));
    await child.until(({ type }) => type === 'loading');
    child.terminate();
    expect(await child.ended).toMatchObject({ exitCode: 0, signal: null });
  });

  it('is gone when its stdin ends, while loading', async () => {
    await using child = await startChild(entryFor(large));
    await child.until((message) => message.type === 'loading' && (message.progress ?? 0) > 0);
    child.closeStdin();
    expect((await child.ended).exitCode).not.toBe(0);
  });

  it('is gone when its stdin ends, while ready', async () => {
    await using child = await startChild(entryFor(small));
    await child.until(isReady);
    child.closeStdin();
    await child.ended;
    expect(child.lines.at(-1)).toContain('the supervisor has gone');
  });
});

describe('a child that cannot serve says why, and the engine understands it', () => {
  it.each([
    ['an empty file', (path: string) => writeFile(path, ''), /is empty/u],
    ['a file that is no model', (path: string) => writeFile(path, 'hello '.repeat(100)), /not a GGUF file/u],
    [
      'a truncated header',
      (path: string) => copyFile(small, path).then(() => truncate(path, 5000)),
      /incomplete|loaded/u,
    ],
    ['truncated weights', (path: string) => copyFile(small, path).then(() => truncate(path, 9_000_000)), /incomplete/u],
    ['a missing file', () => Promise.resolve(), /does not exist/u],
    ['garbage behind the magic', writeGarbage, /damaged|cannot be loaded/u],
  ])('as unreadable-model: %s', async (name, prepare, reason) => {
    const path = join(directory, `${name.replaceAll(' ', '-')}.gguf`);
    await prepare(path);
    await using child = await startChild(entryFor(path));
    const { exitCode, verdict } = await child.ended;
    expect(exitCode).toBe(1);
    expect(verdict.exitClass).toBe('unreadable-model');
    expect(verdict.reason).toMatch(reason);
    expect(verdict.reason).not.toContain('\n');
  });

  it('as port-in-use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await using child = await startChild(entryFor(small), port);
    const { verdict } = await child.ended;
    expect(verdict).toMatchObject({ exitClass: 'port-in-use', reason: `Port ${port} on 127.0.0.1 is in use.` });
    other.close();
  });

  it('as bad-arguments', async () => {
    await using child = await startChild(entryFor(small, { 'ctx-size': 'many' }));
    const { exitCode, verdict } = await child.ended;
    expect(exitCode).toBe(2);
    expect(verdict).toMatchObject({ exitClass: 'bad-arguments', reason: expect.stringContaining("'many'") as string });
  });

  it('as out-of-memory, when the context is larger than memory', async () => {
    await using child = await startChild(entryFor(large, { 'ctx-size': '2000000000' }));
    const { verdict } = await child.ended;
    expect(verdict).toMatchObject({ exitClass: 'out-of-memory', device: 'Host' });
  });

  it('but serves when it only ignores an option, and says which', async () => {
    await using child = await startChild(entryFor(small, { 'flash-attn': 'on' }));
    await child.until(isReady);
    expect(child.lines).toContainEqual(expect.stringMatching(/^--flash-attn has no effect: /u));
  });
});

async function writeGarbage(path: string): Promise<void> {
  await using file = await open(path, 'w');
  await file.write('GGUF');
  await file.write(Buffer.alloc(4096, 0xa7));
}
