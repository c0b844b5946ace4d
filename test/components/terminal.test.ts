import { readFile } from 'node:fs/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readDevices } from '../../src/client/read-devices.js';
import type { Delta, Snapshot } from '../../src/client/types.js';
import { startFakeSupervisor, type FakeSupervisor } from '../support/fake-supervisor.js';
import { busySnapshot, SAMPLE_SUPERVISOR, sampleDecision, sampleModel } from '../support/snapshots.js';
import { startScreen } from '../support/terminal-screen.js';
import { startTerminal, type TestTerminal } from '../support/terminal.js';
import { until } from '../support/until.js';

/** The busy sample as if it had been taken now, with nothing in it that the clock alone changes. */
function stillSnapshot(): Snapshot {
  const now = Date.now();
  const sample = busySnapshot();
  return {
    ...sample,
    at: now,
    // Half a minute past the full one: the uptime stays for the next thirty seconds.
    supervisor: { ...SAMPLE_SUPERVISOR, startedAt: now - 3 * 3_600_000 - 30_000 },
    devices: readDevices(sample.devices).map((device) => ({ ...device, sampledAt: now + 2_000 })),
    models: sample.models.map((model) => ({
      ...model,
      loadingSince: null,
      lastUsedAt: model.lastUsedAt === null ? null : now - 330_000,
    })),
    queue: [],
  };
}

/** New samples of the same figures, as an idle machine's probe sends them. */
function newSample(): Delta {
  const at = Date.now();
  const devices = readDevices(supervisor.snapshot.devices).map((device) => ({ ...device, sampledAt: at }));
  supervisor.snapshot = { ...supervisor.snapshot, at, devices };
  return { at, devices };
}

let supervisor: FakeSupervisor;
let terminal: TestTerminal;

beforeEach(async () => {
  supervisor = await startFakeSupervisor(stillSnapshot());
});

afterEach(async () => {
  await terminal[Symbol.asyncDispose]();
  await supervisor[Symbol.asyncDispose]();
});

describe('the screen in a terminal', () => {
  it('draws on the alternate screen and shows what happens as it happens', async () => {
    terminal = startScreen(supervisor);
    await terminal.waitFor('qwen3-32b');
    expect(terminal.onAlternateScreen()).toBe(true);
    expect(terminal.cursorVisible()).toBe(false);
    supervisor.sendDelta({ at: Date.now(), models: [sampleModel('qwen3-32b', { word: 'unloaded' })] });
    await terminal.waitFor(/qwen3-32b +UNLOADED/);
    supervisor.sendDecision(sampleDecision(77, { sentence: 'something was decided' }));
    await terminal.waitFor('something was decided');
  });

  it('writes nothing at all while nothing changes', async () => {
    terminal = startScreen(supervisor);
    await terminal.waitFor('qwen3-32b');
    await terminal.settle(1_500);
    const before = terminal.output().length;
    const samples = setInterval(() => supervisor.sendDelta(newSample()), 250);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    clearInterval(samples);
    expect(terminal.output().slice(before)).toBe('');
  });

  it('writes little when one value changes', async () => {
    terminal = startScreen(supervisor);
    await terminal.waitFor('qwen3-32b');
    await terminal.settle(1_500);
    const before = terminal.output().length;
    const phi = stillSnapshot().models[2];
    if (phi === undefined) throw new Error('the sample has changed');
    supervisor.sendDelta({ at: Date.now(), models: [{ ...phi, requests: 5 }] });
    await terminal.waitFor(/phi-4 .+ 5 +-/);
    expect(terminal.output().length - before).toBeLessThan(400);
  });

  it('counts every key of those that arrive together', async () => {
    terminal = startScreen(supervisor);
    await terminal.waitFor(/^> . qwen3-32b/m);
    terminal.type('jjj');
    await terminal.waitFor(/^> . gemma-27b/m);
    terminal.type('\u001b[A\u001b[Ak');
    await terminal.waitFor(/^> . qwen3-32b/m);
  });

  it('sends actions to the supervisor and says how they went', async () => {
    terminal = startScreen(supervisor);
    await terminal.waitFor('qwen3-32b');
    terminal.type('G');
    await terminal.waitFor(/^> . broken-70b/m);
    terminal.type('l');
    await terminal.waitFor('load broken-70b: accepted');
    expect(supervisor.received.at(-1)).toMatchObject({ path: '/supervisor/load', body: { model: 'broken-70b' } });
    supervisor.refusal = { status: 409, message: 'Not now.' };
    terminal.type('p');
    await terminal.waitFor('pin broken-70b: Not now.');
  });

  it('does not take a paste for commands', async () => {
    terminal = startScreen(supervisor);
    await terminal.waitFor('qwen3-32b');
    terminal.type('\u001b[200~Uyq\u001b[201~');
    terminal.type('/\u001b[200~phi\u001b[201~');
    await terminal.waitFor('/phi_');
    await terminal.waitFor('Models (1 of 6)');
    expect(supervisor.received.filter((request) => request.method === 'POST')).toEqual([]);
  });

  it('shows the log of a model, and what is added to it', async () => {
    supervisor.logs = ['first line \u001b[31mred\u001b[0m'];
    terminal = startScreen(supervisor);
    await terminal.waitFor('qwen3-32b');
    terminal.type('L');
    await terminal.waitFor('first line red');
    supervisor.logs = [...supervisor.logs, 'second line'];
    await terminal.waitFor('second line');
    terminal.type('\u001b');
    await terminal.waitFor('Models (6)');
  });

  it('redraws over what another program has left', async () => {
    terminal = startScreen(supervisor, { env: { SCREEN_SCRIBBLE_ON: 'SIGUSR2' } });
    await terminal.waitFor('qwen3-32b');
    const before = terminal.text();
    process.kill(terminal.pid, 'SIGUSR2');
    await terminal.waitFor('SCRIBBLE');
    terminal.type('\u000c');
    await terminal.waitFor((lines) => lines.join('\n') === before);
  });

  it('has colours only where they are wanted', async () => {
    terminal = startScreen(supervisor, { env: { FORCE_COLOR: '1' } });
    await terminal.waitFor('qwen3-32b');
    expect(terminal.output()).toContain('\u001b[32mREADY');
    await terminal[Symbol.asyncDispose]();
    terminal = startScreen(supervisor);
    await terminal.waitFor('qwen3-32b');
    // eslint-disable-next-line no-control-regex -- colours are what is looked for
    expect(terminal.output()).not.toMatch(/\u001b\[[0-9;]*m/);
  });
});

describe('another size', () => {
  let samples: NodeJS.Timeout;
  // However long it takes: nothing on the screens gets old meanwhile.
  beforeEach(() => {
    samples = setInterval(() => supervisor.sendDelta(newSample()), 250);
  });
  afterEach(() => clearInterval(samples));

  it.each([
    [140, 40],
    [100, 30],
    [80, 24],
    [60, 20],
    [50, 10],
  ])('%i x %i leaves nothing of the frame before', async (columns, rows) => {
    terminal = startScreen(supervisor, { columns: 120, rows: 36 });
    await terminal.waitFor('Decisions');
    for (const [width, height] of [
      [columns, rows],
      [120, 36],
    ] as const) {
      terminal.resize(width, height);
      const fresh = await freshScreen(width, height);
      await terminal.waitFor((lines) => lines.join('\n') === fresh);
    }
  });

  it('and another and another, faster than they can be drawn, leaves nothing of any of them', async () => {
    terminal = startScreen(supervisor, { columns: 200, rows: 60 });
    await terminal.waitFor('Decisions');
    for (let round = 0; round < 10; round += 1) {
      for (const [width, height] of [
        [40, 10],
        [140, 20],
        [70, 50],
        [200, 60],
      ] as const) {
        terminal.resize(width, height);
        await new Promise((resolve) => setTimeout(resolve, round * 5));
      }
    }
    const fresh = await freshScreen(200, 60);
    await terminal.waitFor((lines) => lines.join('\n') === fresh);
    terminal.resize(40, 10);
    await terminal.waitFor((lines) => lines.join('\n').trim() === 'llm-tui needs 60 x 16, this is 40 x 10');
  });

  /** What a screen shows that was started at this size. */
  async function freshScreen(columns: number, rows: number): Promise<string> {
    await using fresh = startScreen(supervisor, { columns, rows });
    await fresh.waitFor(columns < 60 ? 'needs' : 'Models (6)');
    await fresh.settle(500);
    return fresh.text();
  }
});

describe('a lost supervisor', () => {
  it('is told, and found again without being asked', async () => {
    terminal = startScreen(supervisor);
    await terminal.waitFor('LIVE');
    await supervisor.stop();
    await terminal.waitFor('LOST');
    await terminal.waitFor('trying again; if it has ended, llm-tui starts it: ');
    expect(terminal.text()).toContain('qwen3-32b');
    await supervisor.start();
    await terminal.waitFor('LIVE');
  });

  it('that has come back as another one is left alone by Ctrl-C twice', async () => {
    terminal = startScreen(supervisor, { owns: true });
    await terminal.waitFor('LIVE');
    await supervisor.stop();
    await terminal.waitFor('LOST');
    supervisor.snapshot = { ...supervisor.snapshot, supervisor: { ...SAMPLE_SUPERVISOR, pid: 4711 } };
    await supervisor.start();
    await terminal.waitFor('LIVE');
    terminal.type('\u0003\u0003');
    await terminal.exited;
    expect(terminal.text()).toContain('outcome left');
    expect(supervisor.received.filter(({ path }) => path === '/supervisor/shutdown')).toEqual([]);
    expect(supervisor.received.findLast(({ path }) => path === '/supervisor/events')?.query).toEqual({});
  });

  it('that has stopped answering is told from one that has gone', async () => {
    supervisor.hangs = true;
    terminal = startScreen(supervisor);
    await terminal.waitFor('LIVE');
    terminal.type('Gl');
    await terminal.waitFor('load broken-70b: no answer yet');
    await terminal.waitFor(/SILENT \d+s/);
    supervisor.sendDelta(newSample());
    await terminal.waitFor('LIVE');
  });

  it('can be left at once, with the reason printed on the terminal afterwards', async () => {
    terminal = startScreen(supervisor);
    await terminal.waitFor('LIVE');
    await supervisor.stop();
    await terminal.waitFor('LOST');
    terminal.type('q');
    await terminal.exited;
    expect(terminal.text()).toMatch(/outcome disconnected: (Nothing listens at|The connection to) /);
  });
});

describe('leaving', () => {
  it('by q asks; detaching says where everything keeps running', async () => {
    terminal = startScreen(supervisor, { owns: true });
    await terminal.waitFor('LIVE');
    terminal.type('q');
    await terminal.waitFor('What becomes of the models?');
    terminal.type('d');
    await terminal.exited;
    expect(supervisor.received.at(-1)?.path).toBe('/supervisor/detach');
    expect(supervisor.received[0]).toMatchObject({ path: '/supervisor/events', query: { owner: '1' } });
    expect(unwrapped(terminal)).toContain(
      'outcome detached: Everything keeps running at http://127.0.0.1:8080; to see it again: llm-tui attach http://127.0.0.1:8080',
    );
    expectRestored(terminal);
  });

  it('by detaching names the command as it has to be typed here', async () => {
    terminal = startScreen(supervisor, { owns: true, env: { SCREEN_PROGRAM: 'npm start --' } });
    await terminal.waitFor('LIVE');
    terminal.type('qd');
    await terminal.exited;
    expect(unwrapped(terminal)).toContain('to see it again: npm start -- attach http://127.0.0.1:8080');
  });

  it('by Ctrl-C twice stops everything and waits until it is gone', async () => {
    terminal = startScreen(supervisor, { owns: true });
    await terminal.waitFor('LIVE');
    terminal.type('\u0003\u0003');
    await terminal.waitFor((lines) => lines[0]?.includes('STOPPING') === true);
    await until('it was asked to stop', () =>
      supervisor.received.some((request) => request.path.endsWith('/shutdown')),
    );
    expect(terminal.onAlternateScreen()).toBe(true);
    await supervisor.stop();
    await terminal.exited;
    expect(terminal.text()).toContain('outcome stopped: All models and the supervisor have been stopped.');
    expectRestored(terminal);
  });

  it('ends as well when somebody else stops the supervisor', async () => {
    terminal = startScreen(supervisor);
    await terminal.waitFor('LIVE');
    supervisor.sendDelta({ at: Date.now(), shuttingDown: true });
    await terminal.waitFor((lines) => lines[0]?.includes('STOPPING') === true);
    await supervisor.stop();
    await terminal.exited;
    expect(terminal.text()).toContain('outcome stopped: The supervisor was stopped.');
  });

  it.each(['SIGTERM', 'SIGHUP', 'SIGINT'] as const)('by %s restores the terminal', async (signal) => {
    terminal = startScreen(supervisor);
    await terminal.waitFor('LIVE');
    process.kill(terminal.pid, signal);
    await terminal.exited;
    expect(terminal.text()).toContain('outcome signal: nothing to say');
    expectRestored(terminal);
  });

  it('by an exception restores the terminal and hands the exception on', async () => {
    terminal = startScreen(supervisor, { env: { SCREEN_CRASH_ON: 'SIGUSR2' } });
    await terminal.waitFor('LIVE');
    process.kill(terminal.pid, 'SIGUSR2');
    expect((await terminal.exited).exitCode).toBe(1);
    expect(terminal.text()).toContain('failed: crashed on purpose');
    expectRestored(terminal);
  });

  it('for a while by Ctrl-Z gives the terminal to the shell, and fg brings the same screen back', async () => {
    const script = fileURLToPath(new URL('../support/run-screen.js', import.meta.url));
    terminal = startTerminal({
      file: 'bash',
      args: ['--norc', '--noprofile', '-i'],
      columns: 100,
      rows: 30,
      env: { SCREEN_SOCKET: supervisor.socketPath, PS1: 'prompt> ' },
    });
    await terminal.waitFor('prompt>');
    terminal.type(`"${process.execPath}" "${script}"\r`);
    await terminal.waitFor('LIVE');
    terminal.type('\u001a');
    await terminal.waitFor(/Stopped[^]*prompt>\s*$/);
    expect(terminal.onAlternateScreen()).toBe(false);
    expect(terminal.cursorVisible()).toBe(true);
    terminal.type('stty -a; echo mode shown\r');
    await terminal.waitFor(/^mode shown/m);
    const modes = terminal.text().split(/[\s;]+/);
    for (const mode of ['icanon', 'echo', 'isig', 'icrnl']) expect(modes, mode).toContain(mode);
    terminal.type('fg\r');
    await terminal.waitFor('Models (6)');
    expect(terminal.onAlternateScreen()).toBe(true);
    terminal.type('G');
    await terminal.waitFor(/^> . broken-70b/m);
    terminal.type('q\r');
    await terminal.waitFor(/outcome left[^]*prompt>\s*$/);
  });

  it('gives the terminal back in the mode that a shell needs', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'screen-'));
    const pidFile = join(folder, 'pid');
    const script = fileURLToPath(new URL('../support/run-screen.js', import.meta.url));
    const bySignal =
      (signal: NodeJS.Signals): (() => Promise<unknown>) =>
      async () =>
        process.kill(Number(await readFile(pidFile, 'utf8')), signal);
    for (const [how, leave] of [
      ['q', () => terminal.type('q\r')],
      ['SIGTERM', bySignal('SIGTERM')],
      ['SIGINT', bySignal('SIGINT')],
      ['SIGHUP', bySignal('SIGHUP')],
      ['an exception', bySignal('SIGUSR2')],
    ] as const) {
      terminal = startTerminal({
        file: '/bin/sh',
        // It stays: what a program writes right before its end may be lost on the way through a terminal.
        args: ['-c', `"${process.execPath}" "${script}"; stty -a; echo mode shown; read -r _`],
        columns: 100,
        rows: 30,
        env: { SCREEN_SOCKET: supervisor.socketPath, SCREEN_PID_FILE: pidFile, SCREEN_CRASH_ON: 'SIGUSR2' },
      });
      await terminal.waitFor('LIVE');
      await leave();
      await terminal.waitFor('mode shown');
      const modes = terminal.text().split(/[\s;]+/);
      for (const mode of ['icanon', 'echo', 'isig', 'icrnl']) expect(modes, `${mode} after ${how}`).toContain(mode);
      await terminal[Symbol.asyncDispose]();
    }
    await rm(folder, { recursive: true });
  });
});

/** What was printed, with the breaks taken out that the width of the terminal has made. */
function unwrapped(left: TestTerminal): string {
  return left.lines().join('');
}

function expectRestored(left: TestTerminal): void {
  expect(left.onAlternateScreen()).toBe(false);
  expect(left.cursorVisible()).toBe(true);
  // Bracketed paste is switched off again.
  const output = left.output();
  expect(output.lastIndexOf('\u001b[?2004l')).toBeGreaterThan(output.lastIndexOf('\u001b[?2004h'));
}
