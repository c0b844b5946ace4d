import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readCachedRepos } from '../../src/catalog/hf-cache/cached-repos.js';
import { modelsInCache } from '../../src/catalog/hf-cache/cache-source.js';
import { downloadModel, planDownload } from '../../src/catalog/hf-cache/download-model.js';
import { hubAccess, type HubAccess } from '../../src/catalog/hf-cache/hub.js';
import { removeCachedModel } from '../../src/catalog/hf-cache/remove-model.js';
import { fakeHub, type FakeHub } from '../support/fake-hub.js';
import { tempTree } from '../support/temp-tree.js';
import { tinyGguf } from '../support/tiny-gguf.js';

const MODEL = tinyGguf();
const FILES = {
  'm-Q4_K_M.gguf': MODEL,
  'big/m-Q8_0-00001-of-00002.gguf': MODEL,
  'big/m-Q8_0-00002-of-00002.gguf': Buffer.concat([MODEL, Buffer.from('2')]),
  'mmproj-m-F16.gguf': Buffer.concat([MODEL, Buffer.from('p')]),
  '../../escape-Q4_0.gguf': MODEL,
  'README.md': Buffer.from('# m\n'),
};
const HALF = Math.floor(MODEL.length / 2);

function access(hub: FakeHub, token: string | null = null): HubAccess {
  return hubAccess({ HF_ENDPOINT: `${hub.endpoint}/`, HF_TOKEN: token ?? undefined });
}

async function download(
  hub: FakeHub,
  cache: string,
  name = 'org/m:q4_k_m',
  signal: AbortSignal = new AbortController().signal,
): Promise<string> {
  const plan = await planDownload(name, access(hub), signal);
  await downloadModel(plan, { cache, access: access(hub), signal, onProgress: () => undefined, firstDelayMillis: 1 });
  return plan.id;
}

async function listed(cache: string): Promise<readonly string[]> {
  return modelsInCache((await readCachedRepos(cache)).repos).map(({ id }) => id);
}

/** Files that are lying about half-done. */
function leftovers(cache: string): readonly string[] {
  return readdirSync(cache, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.incomplete'));
}

describe('a download', () => {
  test('lies in the cache as the other programs lay it out, with its projector', async () => {
    await using hub = await fakeHub(FILES);
    const cache = tempTree({});
    expect(await download(hub, cache)).toBe('org/m:Q4_K_M');
    const repo = join(cache, 'models--org--m');
    const link = join(repo, 'snapshots', hub.commit, 'm-Q4_K_M.gguf');
    expect(readFileSync(link)).toEqual(MODEL);
    expect(readlinkSync(link)).toMatch(/^\.\.\/\.\.\/blobs\/[0-9a-f]{64}$/u);
    expect(readFileSync(join(repo, 'refs/main'), 'utf8')).toBe(hub.commit);
    expect(existsSync(join(repo, 'snapshots', hub.commit, 'mmproj-m-F16.gguf'))).toBe(true);
    expect(await listed(cache)).toEqual(['org/m:Q4_K_M']);
    expect(leftovers(cache)).toEqual([]);
  });

  test('brings every shard', async () => {
    await using hub = await fakeHub(FILES);
    const cache = tempTree({});
    expect(await download(hub, cache, 'org/m:Q8_0')).toBe('org/m:Q8_0');
    const [model] = modelsInCache((await readCachedRepos(cache)).repos);
    expect(model?.shards.map((path) => path.slice(-28))).toEqual([
      expect.stringContaining('00001-of-00002.gguf'),
      expect.stringContaining('00002-of-00002.gguf'),
    ]);
  });

  test('goes on where the connection broke, as often as it breaks', async () => {
    const large = Buffer.alloc(12 * 1024 * 1024, 'large');
    await using hub = await fakeHub({ 'm-Q4_K_M.gguf': large });
    hub.behave('m-Q4_K_M.gguf', { breakAfter: large.length / 8, breaks: 4 });
    const cache = tempTree({});
    await download(hub, cache);
    const ranges = hub.requests.filter(({ path }) => path.endsWith('m-Q4_K_M.gguf')).map(({ range }) => range);
    expect(ranges[0]).toBe(null);
    expect(ranges.filter((range) => range !== null).length).toBeGreaterThanOrEqual(3);
    expect(await listed(cache)).toEqual(['org/m:Q4_K_M']);
  });

  test('begins anew where the server cannot go on in the middle', async () => {
    await using hub = await fakeHub(FILES);
    hub.behave('m-Q4_K_M.gguf', { breakAfter: HALF, ignoresRanges: true });
    const cache = tempTree({});
    await download(hub, cache);
    expect(await listed(cache)).toEqual(['org/m:Q4_K_M']);
  });

  test('of wrong content is deleted, and nothing is listed', async () => {
    await using hub = await fakeHub(FILES);
    hub.behave('m-Q4_K_M.gguf', { sends: Buffer.alloc(MODEL.length, 1) });
    const cache = tempTree({});
    await expect(download(hub, cache)).rejects.toThrow(/m-Q4_K_M\.gguf .*wrong content.*sha256.*download it again/u);
    expect([await listed(cache), leftovers(cache)]).toEqual([[], []]);
  });

  test('that is longer than listed is given up and deleted', async () => {
    await using hub = await fakeHub(FILES);
    hub.behave('m-Q4_K_M.gguf', { sends: Buffer.concat([MODEL, MODEL]) });
    const cache = tempTree({});
    await expect(download(hub, cache)).rejects.toThrow(`more than the ${MODEL.length} bytes`);
    expect([await listed(cache), leftovers(cache)]).toEqual([[], []]);
  });

  test('that stays short is given up with where it stopped, and kept for the next one', async () => {
    await using hub = await fakeHub(FILES);
    hub.behave('m-Q4_K_M.gguf', { sends: MODEL.subarray(0, HALF) });
    const cache = tempTree({});
    await expect(download(hub, cache)).rejects.toThrow(`stopped at ${HALF} of ${MODEL.length} bytes`);
    expect(leftovers(cache)).toHaveLength(1);
    hub.behave('m-Q4_K_M.gguf', {});
    await download(hub, cache);
    expect(hub.requests.findLast(({ path }) => path.endsWith('m-Q4_K_M.gguf'))?.range).toBe(`bytes=${HALF}-`);
  });

  test.each([
    ['org/m:Q2_K', /org\/m has no model Q2_K: it has Q4_K_M, Q8_0/u],
    ['org/none:Q4_0', /org\/none does not exist on the hub, or is private/u],
    ['no repository', /is no model of the hub; write OWNER\/NAME/u],
    ['../../etc:x', /is no model of the hub/u],
  ])('of %s is refused in one sentence', async (name, said) => {
    await using hub = await fakeHub(FILES);
    const cache = tempTree({});
    await expect(download(hub, cache, name)).rejects.toThrow(said);
    expect(readdirSync(cache)).toEqual([]);
  });

  test('without a hub says where it looked', async () => {
    const hub = await fakeHub({});
    await hub[Symbol.asyncDispose]();
    const nobody = hubAccess({ HF_ENDPOINT: hub.endpoint });
    const { signal } = new AbortController();
    await expect(planDownload('org/m', nobody, signal)).rejects.toThrow(
      /from http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/u,
    );
  });
});

describe('the key of the hub', () => {
  const KEY = 'hf_abcdefghijklmnopqrstuvwxyz0123456789';

  test('goes with every request, and into no message', async () => {
    await using hub = await fakeHub(FILES, KEY);
    const cache = tempTree({});
    const mine = access(hub, KEY);
    const { signal } = new AbortController();
    const plan = await planDownload('org/m:Q4_K_M', mine, signal);
    await downloadModel(plan, { cache, access: mine, signal, onProgress: () => undefined });
    expect(new Set(hub.requests.map(({ key }) => key))).toEqual(new Set([`Bearer ${KEY}`]));
    await expect(planDownload('org/m', access(hub), signal)).rejects.toThrow(/\(401\): set HF_TOKEN to a token/u);
    const other = access(hub, `${KEY}x`);
    const error: unknown = await planDownload('org/m', other, signal).catch((reason: unknown) => reason);
    expect(String(error)).toMatch(/HF_TOKEN has no access/u);
    expect(JSON.stringify(error) + String(error)).not.toContain(KEY);
  });

  test('goes to the hub alone, wherever that sends us', () => {
    expect(hubAccess({ HF_TOKEN: 'no token' }).token).toBe(null);
    expect(hubAccess({ MODEL_ENDPOINT: 'http://a/', HF_ENDPOINT: 'http://b' }).endpoint).toBe('http://a');
  });
});

describe('removing a model', () => {
  test('takes its files and blobs, and leaves what others use', async () => {
    await using hub = await fakeHub(FILES);
    const cache = tempTree({});
    await download(hub, cache);
    await download(hub, cache, 'org/m:Q8_0');
    const blobs = join(cache, 'models--org--m/blobs');
    // The first shard has the content of the other model: they share a blob.
    expect(readdirSync(blobs)).toHaveLength(3);
    expect(await removeCachedModel(cache, 'org/m:Q8_0')).toBe(true);
    expect(await listed(cache)).toEqual(['org/m:Q4_K_M']);
    expect(readdirSync(blobs)).toHaveLength(2);
    expect(await removeCachedModel(cache, 'org/m:Q8_0')).toBe(false);
  });
});
