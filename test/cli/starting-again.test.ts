import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { getPriority } from 'node:os';
import { describe, expect, it } from 'vitest';
import { pathsFor } from '../../src/supervisor/paths.js';
import { connectSupervisor } from '../../src/client/supervisor-client.js';
import { firstSnapshot } from '../../src/cli/first-snapshot.js';
import { LAUNCHER, temporaryDirectory, testEnvironment } from '../support/serving.js';
import { startTerminal, type TestTerminal } from '../support/terminal.js';

/** The whole program in a terminal: a supervisor in the background, and its screen. */
function startProgram(directory: string, ...args: readonly string[]): TestTerminal {
  return startTerminal({
    file: process.execPath,
    args: [LAUNCHER, '--engine', 'sim', '--glyphs', 'ascii', ...args],
    env: testEnvironment(directory) as Record<string, string>,
    columns: 100,
    rows: 30,
  });
}

/** The process of the supervisor that answers now. */
async function supervisorPid(directory: string): Promise<number> {
  const client = connectSupervisor({ socketPath: pathsFor(null, testEnvironment(directory)).socket });
  try {
    return (await firstSnapshot(client, 5_000)).supervisor.pid;
  } finally {
    client.close();
  }
}

/** A port that another program has. */
async function takenPort(): Promise<AsyncDisposable & { readonly port: string }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: String((server.address() as AddressInfo).port),
    async [Symbol.asyncDispose]() {
      await once(server.close(), 'close');
    },
  };
}

describe('a screen whose own supervisor ends by itself', () => {
  it('says how and where its log is, and starts it again with a key, as often as need be and no slower', async () => {
    const directory = temporaryDirectory();
    await using terminal = startProgram(directory, '--port', '0');
    await terminal.waitFor('LIVE');
    for (const round of [1, 2]) {
      const pid = await supervisorPid(directory);
      expect(getPriority(pid), `round ${round}: only the screen gives way to others`).toBe(getPriority(process.pid));
      process.kill(pid, 'SIGKILL');
      await terminal.waitFor('The supervisor has ended');
      expect(terminal.text()).toMatch(/It ended at \d\d:\d\d:\d\d \(SIGKILL\), and its models with it\./);
      expect(terminal.text().replace(/\s+/g, ' ')).toContain('serve.log a start it again');
      terminal.type('a');
      await terminal.waitFor((lines) => lines[0]?.includes('LIVE') === true);
      expect(await supervisorPid(directory)).not.toBe(pid);
    }
    terminal.type('i');
    await terminal.waitFor((lines) => lines.join(' ').split('(SIGKILL). It was started again.').length === 3);
    terminal.type('qs');
    expect(await terminal.exited).toMatchObject({ exitCode: 0 });
    expect(terminal.text(), 'what is over is not told as if it had just happened').not.toContain('SIGKILL');
  });

  it('still looks at what was known last, and leaves with the log in its last words', async () => {
    const directory = temporaryDirectory();
    await using terminal = startProgram(directory, '--port', '0');
    await terminal.waitFor('LIVE');
    terminal.type('x');
    await terminal.waitFor('x is no key here');
    process.kill(await supervisorPid(directory), 'SIGABRT');
    await terminal.waitFor('Esc look at what was known last');
    terminal.type('i');
    await terminal.waitFor('a starts it again. q leaves.');
    expect(terminal.text(), 'what was said before').not.toContain('is no key here');
    terminal.type('\u001b');
    await terminal.waitFor(/! the supervisor ended at .* \(SIGABRT\); its log: .* a starts it again/);
    expect(terminal.lines()[0]).toContain('LOST');
    terminal.type('i');
    await terminal.waitFor((lines) =>
      /Nobody answers at \S+ any more: the supervisor was killed, or has crashed\./u.test(
        lines.join(' ').replace(/\s+/gu, ' '),
      ),
    );
    terminal.type('q');
    expect(await terminal.exited).toMatchObject({ exitCode: 1 });
    expect(terminal.text()).toMatch(/The supervisor ended at .* \(SIGABRT\)\. Its log: /);
  });
});

describe('a mistake in the command line of a screen', () => {
  it('is said once, at once and on the terminal, with the exit code of serve', async () => {
    await using taken = await takenPort();
    const mistakes = [
      { args: ['--port', taken.port], words: `Port ${taken.port} on 127.0.0.1 is in use`, code: 1 },
      { args: ['--no-such-flag'], words: '--no-such-flag is neither a flag', code: 2 },
      { args: ['--models-preset', '/no/such.ini'], words: 'cannot read the preset file "/no/such.ini"', code: 2 },
    ];
    for (const { args, words, code } of mistakes) {
      await using terminal = startProgram(temporaryDirectory(), ...args);
      expect(await terminal.exited).toMatchObject({ exitCode: code });
      expect(terminal.text().split(words)).toHaveLength(2);
      expect(terminal.output()).not.toContain('\u001b[?1049h');
    }
  });

  it('is said likewise where it was none when the supervisor was started first', async () => {
    const directory = temporaryDirectory();
    const free = await takenPort();
    await free[Symbol.asyncDispose]();
    await using terminal = startProgram(directory, '--port', free.port);
    await terminal.waitFor('LIVE');
    process.kill(await supervisorPid(directory), 'SIGKILL');
    await terminal.waitFor('The supervisor has ended');
    const other = createServer().listen(Number(free.port), '127.0.0.1');
    await once(other, 'listening');
    terminal.type('a');
    expect(await terminal.exited).toMatchObject({ exitCode: 1 });
    other.close();
    expect(terminal.text()).toContain(`Port ${free.port} on 127.0.0.1 is in use`);
  });
});
