import { describe, expect, it } from 'vitest';
import { simulated } from '../support/preset.js';
import { runProgram, serve } from '../support/serving.js';

describe('the verbs of the screen, as commands', () => {
  it('do the same, wait where there is something to wait for, and say why not', async () => {
    const model = { 'sim-size': '2GiB', 'sim-load-seconds': 0.1 };
    await using served = await serve(...simulated('CUDA0=24GiB', { alpha: model }));
    const run = (...args: string[]): ReturnType<typeof runProgram> =>
      runProgram([...args, '--url', served.url], served.directory);

    expect(await run('park', 'alpha')).toMatchObject({ code: 1, stderr: "llm-tui: model 'alpha' is not loaded\n" });
    expect(await run('load', 'alpha')).toMatchObject({ code: 0, stdout: 'alpha is ready\n' });
    expect(await run('park', 'alpha')).toMatchObject({ code: 0, stdout: '' });
    await served.until('it sleeps', ({ models }) => models[0]?.word === 'sleeping');
    expect(await run('wake', 'alpha')).toMatchObject({ code: 0, stdout: 'alpha is ready\n' });
    expect((await run('wake', 'alpha')).stderr).toContain("model 'alpha' is awake");

    expect((await run('cancel', 'alpha')).stderr).toContain("no request for model 'alpha' waits or is being answered");
    const answered = served.post('/v1/completions', { model: 'alpha', prompt: 'x', max_tokens: 100_000 });
    await served.until('it is busy', ({ models }) => models[0]?.requests === 1);
    expect(await run('cancel', 'alpha')).toMatchObject({ code: 0 });
    expect((await answered).status).toBe(503);

    expect(await run('reload')).toMatchObject({ code: 0, stdout: 'nothing has changed\n' });
  });
});
