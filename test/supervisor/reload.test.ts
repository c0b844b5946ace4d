import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../../src/client/types.js';
import type { ReloadReport } from '../../src/client/types.js';
import { runProgram, serve, type Served } from '../support/serving.js';
import { simulated, writePreset } from '../support/preset.js';
import { until } from '../support/until.js';

const FAST = { 'sim-size': '2GiB', 'sim-load-seconds': 0.1 };
const SLOW = { ...FAST, 'sim-tokens-per-second': 10 };

type Sections = Parameters<typeof writePreset>[0];

function presetOf(args: readonly string[]): string {
  return args.at(-1) ?? '';
}

function write(path: string, sections: Sections): void {
  // As editors do: the file is replaced, so that nobody ever sees half of it.
  renameSync(writePreset(sections), path);
}

async function reload(served: Served): Promise<ReloadReport> {
  return (await (await served.post('/supervisor/reload', {})).json()) as ReloadReport;
}

function pidOf({ models }: Snapshot, id: string): number | null {
  return models.find((model) => model.id === id)?.pid ?? null;
}

function wordOf({ models }: Snapshot, id: string): string | null {
  return models.find((model) => model.id === id)?.word ?? null;
}

async function stream(served: Served, model: string, tokens: number): Promise<Promise<string>> {
  const response = await served.post('/v1/completions', { model, prompt: 'x', max_tokens: tokens, stream: true });
  return Promise.resolve(response.text());
}

/** What `/models/sse` says, line for line, until the returned function is called. */
async function listenToModels(served: Served): Promise<{ readonly lines: string[]; end(): void }> {
  const ending = new AbortController();
  const response = await fetch(`${served.url}/models/sse`, { signal: ending.signal });
  const lines: string[] = [];
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) lines.push(...decoder.decode(chunk as Uint8Array).split('\n'));
  })().catch(() => undefined);
  return { lines, end: () => ending.abort() };
}

describe('a preset edited while three models stream', () => {
  it('keeps the unchanged ones with pid and stream, and drains the changed one before it starts anew', async () => {
    const args = simulated('CUDA0=24GiB', { a: SLOW, b: SLOW, c: SLOW });
    await using served = await serve(...args);
    const events = await listenToModels(served);
    const streams = [stream(served, 'a', 40), stream(served, 'b', 20), stream(served, 'c', 40)];
    const texts = streams.map(async (opened) => (await opened).split('data: [DONE]').length - 1);
    const before = await served.until('all three stream', (snapshot) =>
      snapshot.models.every(({ requests }) => requests === 1) ? snapshot : null,
    );

    write(presetOf(args), { a: SLOW, b: { ...SLOW, 'ctx-size': 2048 }, c: SLOW });
    expect(await reload(served)).toEqual({ added: [], changed: ['b'], removed: [], errors: [] });
    expect((await served.snapshot()).models.find(({ id }) => id === 'b')).toMatchObject({
      draining: true,
      requests: 1,
    });
    const again = served.post('/v1/completions', { model: 'b', prompt: 'x', max_tokens: 1 });
    expect(await Promise.all(texts)).toEqual([1, 1, 1]);
    expect((await again).status).toBe(200);

    const after = await served.snapshot();
    expect([pidOf(after, 'a'), pidOf(after, 'c')]).toEqual([pidOf(before, 'a'), pidOf(before, 'c')]);
    expect(pidOf(after, 'b')).not.toBe(pidOf(before, 'b'));
    await until('the reload was told', () => events.lines.some((line) => line.includes('"models_reload"')));
    events.end();
  });

  it('keeps the last good state of a broken save, and says the line', async () => {
    const args = simulated('CUDA0=24GiB', { a: FAST, b: FAST });
    await using served = await serve(...args);
    const good = readFileSync(presetOf(args), 'utf8');
    const broken: readonly (readonly [string, RegExp])[] = [
      [`${good}[c]\nctx-siz`, /models\.ini:\d+: cannot be read/u],
      [`${good}[c]\nctx-sizes = 1\n`, /models\.ini:\d+: unknown key "ctx-sizes"/u],
      [`${good}[c\n`, /models\.ini:\d+: is no section header/u],
      ['', /models\.ini" is empty/u],
      [`${good}[c\nctx-siz\n[a]\nno-such = 1\n`, /:\d+: is no section.*:\d+: cannot be read.*:\d+: unknown key/u],
      [`${good}\u007fELF\u0001\u001b[2J\u202e${'x'.repeat(500)}`, /cannot be read: "ELF\[2Jx{54}…"/u],
      [`${good}\u007fELF\u0000\u0001`, /it is no text/u],
    ];
    for (const [text, said] of broken) {
      writeFileSync(presetOf(args), text);
      const report = await reload(served);
      expect(report).toMatchObject({ added: [], changed: [], removed: [] });
      expect(report.errors.join()).toMatch(said);
      expect(report.errors.join(), 'what stays is not left out').not.toMatch(/left out|\p{Cc}/u);
      expect(served.output()).toContain(`models read again: nothing has changed; ${report.errors.join('; ')}\n`);
      expect((await served.snapshot()).supervisor.notices.join('\n')).toMatch(said);
    }
    rmSync(presetOf(args));
    expect((await reload(served)).errors.join()).toContain('it does not exist');
    writeFileSync(presetOf(args), `${good}[c]\nctx-size = 1024\n`);
    expect(await reload(served)).toEqual({ added: ['c'], changed: [], removed: [], errors: [] });
  });

  it('lets a model that is gone finish what it does, and refuses what comes after', async () => {
    const args = simulated('CUDA0=24GiB', { a: SLOW, b: SLOW });
    await using served = await serve(...args);
    const text = stream(served, 'b', 10);
    await served.until('b streams', ({ models }) => models.find(({ id, requests }) => id === 'b' && requests === 1));
    write(presetOf(args), { a: SLOW });
    const listed = (await (await fetch(`${served.url}/models?reload=1`)).json()) as { data: { id: string }[] };
    expect(listed.data.map(({ id }) => id)).toEqual(['a']);
    expect((await served.post('/v1/completions', { model: 'b', prompt: 'x' })).status).toBe(404);
    expect(await text).toContain('[DONE]');
    await served.until('b has gone', ({ models }) => !models.some(({ id }) => id === 'b'));
  });

  it('is taken in on SIGHUP, and by --watch without being asked; new pinned models load', async () => {
    const args = simulated('CUDA0=24GiB', { a: FAST });
    await using served = await serve('--watch', ...args);
    write(presetOf(args), { a: FAST, b: { ...FAST, pin: 'true' } });
    await served.until('b is ready', (snapshot) => wordOf(snapshot, 'b') === 'ready');
    expect(served.output()).toMatch(/^\d\d:\d\d:\d\d models read again: 1 model added \(.+\)$/mu);
    write(presetOf(args), { a: FAST, b: FAST });
    await served.until('b is no longer pinned', ({ models }) => models.some(({ id, pinned }) => id === 'b' && !pinned));
    expect(wordOf(await served.snapshot(), 'b')).toBe('ready');
    served.process.kill('SIGHUP');
    await until('the reload is printed', () => served.output().includes('models read again: nothing has changed'));
  });

  it("keeps the operator's pins of models that are away, whatever is pinned and restarted meanwhile", async () => {
    const args = simulated('CUDA0=24GiB', { a: FAST, b: FAST, c: FAST });
    const pinned = ({ models }: Snapshot): readonly string[] => models.filter((m) => m.pinned).map(({ id }) => id);
    await using served = await serve(...args);
    for (const model of ['a', 'b']) await served.post('/supervisor/pin', { model });
    write(presetOf(args), { c: FAST });
    await reload(served);
    await served.post('/supervisor/pin', { model: 'c' });
    write(presetOf(args), { a: FAST, c: FAST });
    await reload(served);
    expect(pinned(await served.snapshot())).toEqual(['a', 'c']);
    await served.until('it is loaded again', (snapshot) => wordOf(snapshot, 'a') === 'ready');
    await served.post('/supervisor/unpin', { model: 'c' });
    served.process.kill('SIGTERM');
    await new Promise((resolve) => served.process.once('exit', resolve));
    await using next = await serve('--state-dir', served.stateDirectory, ...args);
    await next.until('a is pinned from the start', (snapshot) => pinned(snapshot).join() === 'a');
    write(presetOf(args), { a: FAST, b: FAST, c: FAST });
    await reload(next);
    expect(pinned(await next.snapshot())).toEqual(['a', 'b']);
  });

  it('leaves a journal that replays to the same decisions', async () => {
    const args = simulated('CUDA0=24GiB', { a: FAST, b: FAST });
    await using served = await serve(...args);
    await served.post('/v1/completions', { model: 'a', prompt: 'x', max_tokens: 1 });
    write(presetOf(args), { a: { ...FAST, 'ctx-size': 512 }, c: { ...FAST, 'load-on-startup': 'true' } });
    await reload(served);
    await served.until('a has gone', (snapshot) => wordOf(snapshot, 'a') === 'unloaded');
    await served.post('/v1/completions', { model: 'c', prompt: 'x', max_tokens: 1 });
    served.process.kill('SIGTERM');
    await new Promise((resolve) => served.process.once('exit', resolve));
    const replayed = await runProgram(['replay', join(served.stateDirectory, 'journal')], served.directory);
    expect(replayed.stdout).toContain('As recorded');
  });
});

describe('what a preset says of a model', () => {
  it('is loaded at start where it says so, and may be unloaded like any other', async () => {
    const args = simulated('CUDA0=24GiB', { a: { ...FAST, 'load-on-startup': 'true' }, b: FAST });
    await using served = await serve(...args);
    const ready = await served.until('a is ready', (snapshot) => wordOf(snapshot, 'a') === 'ready' && snapshot);
    expect(wordOf(ready, 'b')).toBe('unloaded');
    expect(ready.models[0]?.pinned).toBe(false);
    expect(ready.decisions.find(({ kind }) => kind === 'admit')?.asker).toEqual({ kind: 'startup' });
    expect((await served.post('/models/unload', { model: 'a' })).status).toBe(200);
    await served.until('a has gone', (snapshot) => wordOf(snapshot, 'a') === 'unloaded');
  });

  it('is unloaded after its idle-timeout, and stays without one', async () => {
    const args = simulated('CUDA0=24GiB', { a: FAST, never: { ...FAST, 'idle-timeout': 'never' } });
    await using served = await serve('--idle-timeout', '1', ...args);
    for (const model of ['never', 'a']) await served.post('/v1/completions', { model, prompt: 'x', max_tokens: 1 });
    const after = await served.until('a has gone', (snapshot) => wordOf(snapshot, 'a') === 'unloaded' && snapshot);
    expect(after.models.find(({ id }) => id === 'a')?.lastStop).toEqual({ kind: 'idle' });
    expect(wordOf(after, 'never')).toBe('ready');
    expect(after.decisions.some(({ kind, sentence }) => kind === 'stop' && sentence.includes('idle-timeout'))).toBe(
      true,
    );
  });

  it('says that an engine of its own is not supported yet', async () => {
    const args = simulated('CUDA0=24GiB', { a: { ...FAST, engine: 'embedded' }, b: { ...FAST, engine: 'sim' } });
    await using served = await serve(...args);
    const { supervisor } = await served.snapshot();
    expect(supervisor.notices.filter((notice) => notice.includes('engine ='))).toEqual([
      expect.stringContaining('engine = embedded is not supported yet beside another engine'),
    ]);
  });
});
