import { once } from 'node:events';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { oddModels, servingOdd, thiefFile, type Oddity } from '../support/odd-models.js';
import { descendants, serve, serveIn, temporaryDirectory, type Served } from '../support/serving.js';
import { isRunning, until } from '../support/until.js';

const complete = (served: Served, model: Oddity, signal?: AbortSignal): Promise<Response> =>
  served.post('/v1/completions', { model, prompt: 'x' }, signal);
const ignored = (promise: Promise<unknown>): void => void promise.catch(() => undefined);
const said = (served: Served, text: string): Promise<unknown> => until(text, () => served.output().includes(text));

describe.runIf(process.platform === 'linux')('a child', () => {
  it('whose port is taken after it was chosen gets another, and its model has not failed', async () => {
    const models = oddModels('steals');
    await using served = await serve(...servingOdd(models));
    expect((await complete(served, 'steals')).status).toBe(200);
    process.kill(Number(readFileSync(thiefFile(models), 'utf8')), 'SIGKILL');
    const { decisions, models: views } = await served.snapshot();
    expect(views[0]).toMatchObject({ word: 'ready', generation: 2, lastExit: null });
    expect(decisions.map(({ sentence }) => sentence).join('\n')).toContain('another program has taken its port');
  });

  it('that gives no sign of life while it loads is stopped, and whoever waits is told', async () => {
    await using served = await serve(...servingOdd(oddModels('stalls')), '--load-timeout', '1');
    const reply = await complete(served, 'stalls');
    expect(reply.status).toBe(503);
    expect(await reply.text()).toContain('stalled: nothing heard for 1s');
    const { models } = await served.snapshot();
    expect(models[0]).toMatchObject({ word: 'failed', lastExit: { exitClass: 'stalled', duringLoad: true } });
  });

  it('that hangs at work is reported and left alone, until it goes on', async () => {
    await using served = await serve(...servingOdd(oddModels('hangs')), '--hang-timeout', '1');
    const answer = complete(served, 'hangs');
    const model = await served.until('it is reported', ({ models }) => models[0]?.hungSince != null && models[0]);
    expect(model).toMatchObject({ word: 'ready', requests: 1 });
    await said(served, 'hangs: seems hung: no answer, no token and no CPU time used for 1s');
    process.kill(model.pid ?? 0, 'SIGCONT');
    expect((await answer).status).toBe(200);
    await served.until('it is no longer reported', ({ models }) => models[0]?.hungSince === null);
  });

  it('that hangs is killed where the user said so, and its client is told why', async () => {
    await using served = await serve(...servingOdd(oddModels('hangs')), '--hang-timeout', '1', '--kill-hung');
    const { pid } = await (async () => {
      ignored(complete(served, 'hangs').then((reply) => reply.text()));
      return served.until('it runs', ({ models }) => models[0]?.pid != null && models[0]);
    })();
    const model = await served.until('it has ended', ({ models }) => models[0]?.generation === null && models[0]);
    expect(model).toMatchObject({ word: 'failed', lastExit: { exitClass: 'hung', signal: 'SIGKILL' } });
    expect(isRunning(pid ?? 0)).toBe(false);
  });

  it('that thinks for long, and answers nobody meanwhile, is not hung', async () => {
    await using served = await serve(...servingOdd(oddModels('thinks')), '--hang-timeout', '1');
    expect((await complete(served, 'thinks')).status).toBe(200);
    expect(served.output()).not.toContain('hung');
  });

  it('that finishes what it does before it leaves is given its time, and then loses its clients', async () => {
    const directory = oddModels('lingers');
    await using served = await serve(...servingOdd(directory), '--models-preset', presetOf(directory, 'lingers', 1));
    const reply = await complete(served, 'lingers');
    const { pid } = await served.until('it works', ({ models }) => models[0]?.requests === 1 && models[0]);
    const unloaded = Date.now();
    await served.post('/models/unload', { model: 'lingers' });
    await expect(reply.text(), 'cut short, and seen to be').rejects.toThrow();
    await until('it is gone', () => !isRunning(pid ?? 0));
    expect(Date.now() - unloaded).toBeGreaterThanOrEqual(950);
    const { models } = await served.snapshot();
    expect(models[0]?.lastExit, 'it left by itself').toMatchObject({ exitCode: 0, signal: null });
  });
});

/** A preset that gives a model a stop-timeout. */
function presetOf(directory: string, model: Oddity, stopSeconds: number): string {
  const path = join(temporaryDirectory(), 'models.ini');
  writeFileSync(path, `[${model}]\nmodel = ${join(directory, `${model}.gguf`)}\nstop-timeout = ${stopSeconds}\n`);
  return path;
}

describe.runIf(process.platform === 'linux')('a start after a supervisor was killed', () => {
  /** Where no parent-death signal is to be had: a killed supervisor does not take its children along. */
  function environmentWithoutTools(): NodeJS.ProcessEnv {
    const bin = temporaryDirectory();
    symlinkSync(process.execPath, join(bin, 'node'));
    return { PATH: bin };
  }

  it('ends the child that outlived it, and says so', async () => {
    const directory = temporaryDirectory();
    const args = servingOdd(oddModels('stubborn'));
    const environment = environmentWithoutTools();
    const first = await serveIn(directory, args, environment);
    expect((await complete(first, 'stubborn')).status).toBe(200);
    const [child = 0] = descendants(first.process.pid ?? 0);
    const exited = once(first.process, 'exit');
    first.process.kill('SIGKILL');
    await exited;
    expect(isRunning(child), 'it ignores the end of its stdin').toBe(true);

    await using second = await serveIn(directory, args, environment);
    expect(isRunning(child)).toBe(false);
    const { supervisor } = await second.snapshot();
    expect(supervisor.notices.join('\n')).toContain(`had left stubborn (pid ${child}) behind; it has been ended`);
    expect((await complete(second, 'stubborn')).status, 'it serves as ever').toBe(200);
  });
});
