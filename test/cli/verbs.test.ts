import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../../src/client/types.js';
import { simulated } from '../support/preset.js';
import { LAUNCHER, runProgram, serve, temporaryDirectory, testEnvironment } from '../support/serving.js';
import { until } from '../support/until.js';

describe('the verbs of the screen, as commands', () => {
  it('do the same, wait where there is something to wait for, and say why not', async () => {
    const model = { 'sim-size': '2GiB', 'sim-load-seconds': 0.1 };
    await using served = await serve(...simulated('CUDA0=24GiB', { alpha: model }));
    const run = (...args: string[]): ReturnType<typeof runProgram> =>
      runProgram([...args, '--url', served.url], served.directory);

    expect(await run('park', 'alpha')).toMatchObject({ code: 1, stderr: "llm-tui: model 'alpha' is not loaded\n" });
    expect(await run('load', 'alpha')).toMatchObject({ code: 0, stdout: 'alpha is ready\n' });
    expect(await run('park', 'alpha')).toMatchObject({ code: 0, stdout: 'alpha goes to sleep and leaves memory\n' });
    await served.until('it sleeps', ({ models }) => models[0]?.word === 'sleeping');
    expect(await run('wake', 'alpha')).toMatchObject({ code: 0, stdout: 'alpha is ready\n' });
    for (const [verb, word] of [
      ['wake', 'awake'],
      ['load', 'loaded'],
      ['unpin', 'unpinned'],
    ] as const) {
      const again = { code: 0, stdout: `alpha is ${word} already\n`, stderr: '' };
      expect(await run(verb, 'alpha'), 'what is so already is no failure').toMatchObject(again);
    }

    expect((await run('cancel', 'alpha')).stderr).toContain("no request for model 'alpha' waits or is being answered");
    const answered = served.post('/v1/completions', { model: 'alpha', prompt: 'x', max_tokens: 100_000 });
    await served.until('it is busy', ({ models }) => models[0]?.requests === 1);
    expect(await run('cancel', 'alpha')).toMatchObject({
      code: 0,
      stdout: '1 request for alpha cancelled: 1 being answered\n',
    });
    expect((await answered).status).toBe(503);

    expect((await run('pin', 'alpha')).stdout).toBe('alpha is pinned: it is never evicted\n');
    expect(JSON.parse((await run('unpin', 'alpha', '--json')).stdout)).toEqual({
      schema: 1,
      action: 'unpin',
      model: 'alpha',
      message: 'alpha is no longer pinned',
    });
    expect((await run('unload', 'alpha')).stdout).toBe('alpha is being unloaded\n');

    expect(await run('reload')).toMatchObject({ code: 0, stdout: 'nothing has changed\n' });
    const reloaded = {
      schema: 1,
      action: 'reload',
      added: [],
      changed: [],
      removed: [],
      message: 'nothing has changed',
    };
    expect(JSON.parse((await run('reload', '--json')).stdout)).toEqual(reloaded);
    expect(JSON.parse((await run('logs', 'alpha', '--json')).stdout)).toEqual({
      schema: 1,
      model: 'alpha',
      lines: expect.arrayContaining([expect.any(String)]) as string[],
    });

    const stopped = await run('stop');
    expect(stopped).toMatchObject({ code: 1, stdout: '' });
    expect(stopped.stderr).toContain('on its own machine, through its socket: llm-tui stop without --url');
    expect((await served.snapshot()).shuttingDown).toBe(false);
  });

  it('show what waits as the screen does', async () => {
    const model = { 'sim-size': '16GiB', 'sim-load-seconds': 0.1 };
    await using served = await serve(...simulated('CUDA0=24GiB', { first: model, second: model }));
    const leaving = new AbortController();
    const busy = served.post('/v1/completions', { model: 'first', prompt: 'x', max_tokens: 100_000 }, leaving.signal);
    await served.until('the first is busy', ({ models }) => models[0]?.requests === 1);
    const answered = served.post('/v1/completions', { model: 'second', prompt: 'x' });
    // Before that it may wait to be measured, and its size be unknown.
    await served.until('the second waits for the first', ({ queue }) => queue[0]?.why.includes('busy') === true);
    const { stdout } = await runProgram(['ps', '--url', served.url], served.directory);
    expect(stdout).toMatch(/second +WAITING +CUDA0 +16\.0 +\+1/);
    const cancel = await runProgram(['cancel', 'second', '--url', served.url], served.directory);
    expect(cancel.stdout).toBe('1 request for second cancelled: 1 waiting\n');
    expect((await answered).status).toBe(503);
    leaving.abort();
    await busy.catch(() => undefined);
  });
});

describe('llm-tui where there is no terminal', () => {
  it('says that it serves there, and does', async () => {
    const directory = temporaryDirectory();
    const child = spawn(process.execPath, [LAUNCHER, '--engine', 'sim', '--port', '0'], {
      env: testEnvironment(directory),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    await until('it listens', () => stdout.includes('llm-tui listens at'));
    expect(stderr).toMatch(/^llm-tui: this is no terminal for a screen, so it serves here, .*llm-tui serve does\.\n$/u);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('goes on serving when whoever reads its lines has seen enough, as head has', async () => {
    const args = [LAUNCHER, ...simulated('CUDA0=24GiB', { model: { 'sim-load-seconds': 0.1 } }), '--port', '0'];
    const child = spawn(process.execPath, args, {
      env: testEnvironment(temporaryDirectory()),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    const url = await until('it listens', () => /listens at (\S+);/u.exec(stdout)?.[1]);
    child.stdout.destroy();
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'model' });
    // Every decision is a line that nobody reads.
    for (const [action, word] of [
      ['load', 'ready'],
      ['kill', 'unloaded'],
      ['load', 'ready'],
    ] as const) {
      expect((await fetch(`${url}/supervisor/${action}`, { method: 'POST', headers, body })).status).toBe(200);
      await until(`the model is ${word}`, async () => {
        const { models } = (await (await fetch(`${url}/supervisor/state`)).json()) as Snapshot;
        return models[0]?.word === word;
      });
    }
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
