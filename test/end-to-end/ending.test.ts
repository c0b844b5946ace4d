import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDevices } from '../../src/client/read-devices.js';
import type { Snapshot } from '../../src/client/types.js';
import { pathsFor } from '../../src/supervisor/paths.js';
import { LAUNCHER, descendants, runProgram, serveIn, temporaryDirectory, testEnvironment } from '../support/serving.js';
import { isRunning, until } from '../support/until.js';
import { simulated } from '../support/preset.js';
import { startTerminal, type TestTerminal } from '../support/terminal.js';

const slow = { 'sim-size': '2GiB', 'sim-load-seconds': 60 };
const sleepy = { 'sim-size': '2GiB', 'sim-load-seconds': 0.1, 'sim-tokens-per-second': 500, 'sleep-idle-seconds': 1 };
const quick = { 'sim-size': '2GiB', 'sim-load-seconds': 0.1, 'sim-tokens-per-second': 5 };

describe.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)('%s of serve', (signal) => {
  it('leaves no child alive, whether it was loading, serving, idle or asleep, and the next start is clean', async () => {
    const directory = temporaryDirectory();
    const args = simulated('CUDA0=24GiB', { loading: slow, streaming: quick, idle: quick, asleep: sleepy });
    const served = await serveIn(directory, args);
    const stopping = new AbortController();
    const ignored = (promise: Promise<unknown>): void => void promise.catch(() => undefined);
    const request = (model: string, stream: boolean): Promise<Response> =>
      served.post('/v1/completions', { model, prompt: 'x', max_tokens: stream ? 1000 : 1, stream }, stopping.signal);
    for (const model of ['idle', 'asleep']) expect((await request(model, false)).status).toBe(200);
    const stream = await request('streaming', true);
    ignored(request('loading', false));
    await served.until('each is in its phase', ({ models }) => {
      return models.map(({ word }) => word).join() === 'loading,ready,ready,sleeping';
    });
    const children = descendants(served.process.pid ?? 0);
    expect(children).toHaveLength(4);

    const exited = once(served.process, 'exit');
    served.process.kill(signal);
    await exited;
    // A killed supervisor cannot wait for them; three seconds are what its children have.
    await until('no child is alive', () => children.every((pid) => !isRunning(pid)), 3000);
    stopping.abort();
    ignored(stream.text());

    await using next = await serveIn(directory, args);
    const { supervisor, models, devices } = await next.snapshot();
    expect(models.map(({ word }) => word)).toEqual(['unloaded', 'unloaded', 'unloaded', 'unloaded']);
    expect(readDevices(devices).map(({ freeBytes, totalBytes }) => totalBytes - freeBytes)).toEqual([0]);
    expect(supervisor.notices.join()).not.toContain('cannot be ended');
  });
});

/** `llm-tui` in a terminal, with a supervisor in the background that it started. */
async function startScreen(
  directory: string,
  ...args: readonly string[]
): Promise<{ terminal: TestTerminal; state: () => Promise<Snapshot> }> {
  const stateDirectory = join(directory, 'state');
  const environment = testEnvironment(directory);
  const terminal = startTerminal({
    file: process.execPath,
    args: [LAUNCHER, '--state-dir', stateDirectory, '--port', '0', ...args],
    env: Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, value ?? ''])),
    columns: 120,
    rows: 30,
  });
  const state = async (): Promise<Snapshot> => {
    const { stdout } = await runProgram(['ps', '--json', '--state-dir', stateDirectory], directory);
    return JSON.parse(stdout) as Snapshot;
  };
  await terminal.waitFor('LIVE');
  return { terminal, state };
}

describe('leaving the screen', () => {
  const preset = simulated('CUDA0=24GiB', { a: quick });

  it('stops everything and restores the terminal when asked to', async () => {
    const directory = temporaryDirectory();
    const { terminal, state } = await startScreen(directory, ...preset);
    await using _ = terminal;
    terminal.type('l');
    await terminal.waitFor('READY');
    const { supervisor, models } = await state();
    terminal.type('q');
    await terminal.waitFor('detach');
    terminal.type('s');
    expect((await terminal.exited).exitCode).toBe(0);
    expect(terminal.onAlternateScreen()).toBe(false);
    expect(terminal.cursorVisible()).toBe(true);
    expect(terminal.text()).toContain('stopped');
    await until('nothing is left', () => [supervisor.pid, models[0]?.pid ?? 0].every((pid) => !isRunning(pid)), 3000);
    rmSync(directory, { recursive: true });
  });

  it('leaves everything running when detached, and attaches again', async () => {
    const directory = temporaryDirectory();
    const first = await startScreen(directory, ...preset);
    first.terminal.type('q');
    await first.terminal.waitFor('detach');
    first.terminal.type('d');
    await first.terminal.exited;
    await first.terminal[Symbol.asyncDispose]();
    const { supervisor } = await first.state();
    expect(isRunning(supervisor.pid)).toBe(true);

    const second = await startScreen(directory, ...preset);
    await using _ = second.terminal;
    expect((await second.state()).supervisor.pid, 'the same supervisor').toBe(supervisor.pid);
    process.kill(supervisor.pid, 'SIGTERM');
    await until('it has gone', () => !isRunning(supervisor.pid));
  });

  it('shows the same supervisor in both of two screens that start at the same moment', async () => {
    const directory = temporaryDirectory();
    const screens = await Promise.all([startScreen(directory, ...preset), startScreen(directory, ...preset)]);
    const pids = await Promise.all(screens.map(async ({ state }) => (await state()).supervisor.pid));
    expect(pids[0]).toBe(pids[1]);
    for (const { terminal } of screens) await terminal[Symbol.asyncDispose]();
    await until('it has gone with the screen that started it', () => !isRunning(pids[0] ?? 0));
  });

  it('does not pass a supervisor with other flags off as the one that was asked for', async () => {
    const directory = temporaryDirectory();
    await using first = (await startScreen(directory, ...preset)).terminal;
    const other = startTerminal({
      file: process.execPath,
      args: [LAUNCHER, '--state-dir', join(directory, 'state'), '--port', '0', '--models-max', '1', ...preset],
      env: Object.fromEntries(Object.entries(testEnvironment(directory)).map(([name, value]) => [name, value ?? ''])),
      columns: 200,
      rows: 10,
    });
    await using _ = other;
    expect((await other.exited).exitCode).toBe(2);
    expect(other.text()).toMatch(/A supervisor already runs for .* with other flags; .* llm-tui stop/su);
    first.type('qs');
    await first.exited;
  });

  it('stops its supervisor when it is killed', async () => {
    const directory = temporaryDirectory();
    const { terminal, state } = await startScreen(directory, ...preset);
    terminal.type('l');
    await terminal.waitFor('READY');
    const { supervisor, models } = await state();
    process.kill(terminal.pid, 'SIGKILL');
    await terminal.exited;
    const pids = [supervisor.pid, models[0]?.pid ?? 0];
    await until('supervisor and model are gone', () => pids.every((pid) => !isRunning(pid)), 10_000);
  });

  it('leaves its supervisor alone when it is killed with --on-close detach', async () => {
    const directory = temporaryDirectory();
    const { terminal, state } = await startScreen(directory, '--on-close', 'detach', ...preset);
    const { supervisor } = await state();
    process.kill(terminal.pid, 'SIGKILL');
    await terminal.exited;
    // It would stop after a second; another screen then still finds it.
    const again = await startScreen(directory, ...preset);
    await again.terminal.waitFor(/up/u);
    await again.terminal.settle(1500);
    expect(isRunning(supervisor.pid)).toBe(true);
    await again.terminal[Symbol.asyncDispose]();
    process.kill(supervisor.pid, 'SIGTERM');
    await until('it has gone', () => !isRunning(supervisor.pid));
  });

  it('says one sentence and starts no screen when the supervisor cannot start', async () => {
    const directory = temporaryDirectory();
    const terminal = startTerminal({
      file: process.execPath,
      args: [LAUNCHER, '--state-dir', join(directory, 'state'), '--models-dir', '/no/such/dir'],
      columns: 120,
      rows: 30,
    });
    await using _ = terminal;
    expect((await terminal.exited).exitCode).toBe(2);
    expect(terminal.text().trim()).toMatch(/^llm-tui: .*\/no\/such\/dir/u);
    expect(terminal.output()).not.toContain('\u001b[?1049h');
  });

  it('finds the socket of a state directory without reading it', () => {
    expect(pathsFor('/some/where', {}).socket).toBe(pathsFor('/some/where/', {}).socket);
    expect(pathsFor('/some/where', {}).socket.length).toBeLessThan(100);
  });
});
