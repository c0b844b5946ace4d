import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { simulated } from '../support/preset.js';
import { LAUNCHER, runProgram, serve, testEnvironment, type Served } from '../support/serving.js';
import { startTerminal } from '../support/terminal.js';
import { until } from '../support/until.js';

const twoThatDoNotFitTogether = (): readonly string[] =>
  simulated('CUDA0=24GiB', {
    first: { 'sim-size': '16GiB', 'sim-load-seconds': 0.1 },
    second: { 'sim-size': '16GiB', 'sim-load-seconds': 60 },
  });

interface Running {
  stderr(): string;
  interrupt(): Promise<{ readonly signal: string | null; readonly stdout: string }>;
}

/** A command that goes on until it is interrupted. */
function start(served: Served, ...args: readonly string[]): Running {
  const child = spawn(process.execPath, [LAUNCHER, ...args, '--url', served.url], {
    env: testEnvironment(served.directory),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return {
    stderr: () => stderr,
    async interrupt() {
      child.kill('SIGINT');
      const [, signal] = (await once(child, 'close')) as [number | null, string | null];
      return { signal, stdout };
    },
  };
}

/** The first model is busy until the signal is aborted. */
async function keepBusy(served: Served, signal: AbortSignal): Promise<void> {
  const body = { model: 'first', prompt: 'x', max_tokens: 100_000 };
  served.post('/v1/completions', body, signal).catch(() => undefined);
  await served.until('the first is busy', ({ models }) => models[0]?.requests === 1);
}

describe('llm-tui load, while it waits', () => {
  it('says at once what for, and takes the load back when it is interrupted', async () => {
    await using served = await serve(...twoThatDoNotFitTogether());
    const leaving = new AbortController();
    await keepBusy(served, leaving.signal);
    const load = start(served, 'load', 'second', '--json');
    await until('it says what it waits for', () =>
      load.stderr().includes('second is WAITING: short 9.0 GiB on CUDA0; first is busy (1)\n'),
    );
    const { signal, stdout } = await load.interrupt();
    expect(load.stderr()).toMatch(/llm-tui: interrupted: the load of second is withdrawn\n$/u);
    expect(JSON.parse(stdout)).toEqual({
      schema: 1,
      error: { code: 'interrupted', message: 'interrupted: the load of second is withdrawn' },
    });
    expect(signal, 'so that a script ends too').toBe('SIGINT');
    const { queue, models } = await served.snapshot();
    expect([queue, models[0]?.draining]).toEqual([[], false]);
    leaving.abort();
  });

  it('joins a load that is under way, whose end by others it tells as what it was', async () => {
    await using served = await serve(...twoThatDoNotFitTogether());
    await served.post('/supervisor/load', { model: 'second' });
    await served.until('it loads', ({ models }) => models[1]?.word === 'loading');
    const left = start(served, 'load', 'second');
    await until('it waits', () => left.stderr().includes('second is LOADING\n'));
    await left.interrupt();
    expect(left.stderr()).toContain('the load of second goes on: it had been asked for before\n');
    const joined = start(served, 'load', 'second');
    await until('it waits too', () => joined.stderr().includes('second is LOADING\n'));
    await runProgram(['cancel', 'second', '--url', served.url], served.directory);
    await until('it is told', () => joined.stderr().includes('its load was cancelled by the operator'));
  });

  it('stops the child that was starting for it', async () => {
    await using served = await serve(...twoThatDoNotFitTogether());
    const load = start(served, 'load', 'second');
    await until('it loads', () => load.stderr().includes('second is LOADING\n'));
    await load.interrupt();
    await served.until('its child has gone', ({ models }) => models[1]?.word === 'unloaded');
  });

  it('leaves the load to others who want it', async () => {
    await using served = await serve(...twoThatDoNotFitTogether());
    const leaving = new AbortController();
    await keepBusy(served, leaving.signal);
    const load = start(served, 'load', 'second');
    await until('it waits', () => load.stderr().includes('second is WAITING'));
    const request = served.post('/v1/completions', { model: 'second', prompt: 'x' }, leaving.signal);
    request.catch(() => undefined);
    await served.until('a request waits too', ({ queue }) => queue[0]?.waiters === 1);
    await load.interrupt();
    expect(load.stderr()).toMatch(/interrupted: the load of second goes on for 1 request for it\n$/u);
    expect((await served.snapshot()).queue).toMatchObject([{ model: 'second', waiters: 1 }]);
    leaving.abort();
  });

  it('leaves alone what had been asked for before', async () => {
    await using served = await serve(...twoThatDoNotFitTogether());
    const leaving = new AbortController();
    await keepBusy(served, leaving.signal);
    await served.post('/supervisor/load', { model: 'second' });
    const load = start(served, 'load', 'second');
    await until('it waits', () => load.stderr().includes('second is WAITING'));
    await load.interrupt();
    expect(load.stderr()).toMatch(/interrupted: the load of second goes on: it had been asked for before\n$/u);
    expect((await served.snapshot()).queue).toMatchObject([{ model: 'second', wantedBy: 'operator' }]);
    leaving.abort();
  });

  it('shows it on a terminal in one line, which goes again', async () => {
    await using served = await serve(...twoThatDoNotFitTogether());
    await using terminal = startTerminal({
      file: process.execPath,
      args: [LAUNCHER, 'load', 'second', '--url', served.url],
      env: testEnvironment(served.directory) as Record<string, string>,
      columns: 80,
      rows: 10,
    });
    await terminal.waitFor(/second is LOADING \d+%/u);
    expect(terminal.lines().filter((line) => line !== '')).toHaveLength(1);
    terminal.type('\u0003');
    await terminal.waitFor('the load of second is withdrawn');
    expect(terminal.text()).not.toContain('LOADING');
    expect(
      terminal
        .lines()
        .filter((line) => line !== '')
        .at(-1),
    ).toBe('llm-tui: interrupted: the load of second is withdrawn');
  });
});

describe('llm-tui measure, while it waits', () => {
  it('says so, and what becomes of it when it is interrupted', async () => {
    const model = { 'sim-size': '1GiB', 'sim-measure-seconds': 60 };
    await using served = await serve(...simulated('CUDA0=24GiB', { slow: model }));
    const measure = start(served, 'measure', 'slow');
    await until('it says so', () => measure.stderr().includes('slow is being measured\n'));
    await measure.interrupt();
    expect(measure.stderr()).toContain('interrupted: slow is measured all the same');
  });
});

describe('cancelling a load that only the operator wanted', () => {
  it('ends it where it is under way, as it says', async () => {
    await using served = await serve(...twoThatDoNotFitTogether());
    await served.post('/supervisor/load', { model: 'second' });
    await served.until('it loads', ({ models }) => models[1]?.word === 'loading');
    const { stdout } = await runProgram(['cancel', 'second', '--url', served.url], served.directory);
    expect(stdout).toBe('the load of second is cancelled; no request waited for it\n');
    await served.until('its child has gone', ({ models }) => models[1]?.word === 'unloaded');
  });
});
