import { execa } from 'execa';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../src/engines/free-port.js';
import { script, watch, type Watched } from '../support/node-child.js';
import { isRunning, until } from '../support/until.js';

const watched: Watched[] = [];

function start(source: string, options?: Parameters<typeof watch>[1]): Watched {
  const child = watch(script(source), options);
  watched.push(child);
  return child;
}

afterEach(async () => {
  for (const child of watched.splice(0)) {
    child.handle.kill();
    await child.exited;
  }
});

/** Stays alive whatever it is asked; says `up` once it does. */
const STUBBORN = `process.on('SIGTERM', () => console.log('not yet')); setInterval(() => {}, 1000); console.log('up');`;
/** Leaves when its stdin says so, or ends. */
const POLITE = `
  process.stdin.on('data', (data) => { console.log('heard ' + String(data).trim()); process.exit(7); });
  process.stdin.on('end', () => process.exit(8));
  console.log('up');`;

const isUp = (child: Watched): Promise<unknown> => until('the child is up', () => child.log.includes('up'));

describe('what a child says', () => {
  it('is told apart: messages on stdout, everything else is log', async () => {
    const child = start(`
      console.log('hello');
      console.log('cmd_child_to_router:state:{"state":"loading","payload":{"value":0.5}}');
      console.error('cmd_child_to_router:state:{"state":"ready"}');
      console.log('cmd_child_to_router:state:{"state":"ready"}');`);
    await child.exited;
    expect(child.messages).toEqual([
      { type: 'loading', progress: 0.5 },
      { type: 'ready', contextTokens: null, effective: null },
    ]);
    expect([...child.log].sort()).toEqual(['cmd_child_to_router:state:{"state":"ready"}', 'hello']);
  });

  it('keeps letters whole that arrive in pieces, and counts an unfinished last line', async () => {
    const child = start(`
      import { setTimeout } from 'node:timers/promises';
      const bytes = Buffer.from('grüß 🌍');
      for (const byte of bytes) { process.stdout.write(Buffer.from([byte])); await setTimeout(1); }`);
    await child.exited;
    expect(child.log).toEqual(['grüß 🌍']);
  });

  it('cannot move the cursor or change the terminal', async () => {
    const child = start(String.raw`
      process.stdout.write('\x1b[2J\x1b[31mred\x1b[0m \x1b]0;title\x07and\x9b5A\x08 \u202eback\tend\r\n10%\r20%\r30%\n');`);
    await child.exited;
    expect(child.handle.lines()).toEqual(['red and back end', '30%']);
  });

  it('is kept as its last lines only, however many there are', async () => {
    const child = start(`for (let i = 0; i < 5000; i++) console.log('line ' + i);`, { logLines: 3 });
    const { lastLines } = await child.exited;
    expect(lastLines).toEqual(['line 4997', 'line 4998', 'line 4999']);
  });

  it('is cut where a line is long, and what follows is read on', async () => {
    const child = start(`process.stdout.write('x'.repeat(40 * 2 ** 20) + '\\nnext\\n');`);
    await child.exited;
    expect(child.log.map((line) => line.length)).toEqual([4096, 4]);
    expect(child.handle.lines().join('').length).toBeLessThan(2 ** 20);
  });

  it('goes on when its reader fails', async () => {
    const child = start(`console.log('odd'); console.log('even');`, {
      reader: {
        read: () => {
          throw new Error('a reader with a bug');
        },
      },
    });
    await child.exited;
    expect(child.log).toEqual(['odd', 'even']);
  });
});

describe('the exit of a child', () => {
  it('is reported once, after everything it said', async () => {
    const child = start(`for (let i = 0; i < 2000; i++) console.error('line ' + i); process.exitCode = 3;`);
    const exit = await child.exited;
    expect(exit).toMatchObject({ exitCode: 3, signal: null, asked: false });
    expect(exit.lastLines.at(-1)).toBe('line 1999');
    child.handle.stop({ loading: false, timeoutMillis: 1 });
    child.handle.kill();
    expect(child.exits).toHaveLength(1);
  });

  it('names the signal', async () => {
    const child = start(`process.kill(process.pid, 'SIGSEGV'); setInterval(() => {}, 1000);`);
    expect(await child.exited).toMatchObject({ exitCode: null, signal: 'SIGSEGV', asked: false });
  });

  it.each([
    ['a program that does not exist', '/nowhere/llama-server', 'there is no such program'],
    ['a file that is not executable', import.meta.filename, 'not executable'],
  ])('is also reported of %s', async (_case, file, words) => {
    const child = watch({ file, args: [], env: {} });
    const exit = await child.exited;
    expect(child.handle.pid).toBeNull();
    expect(exit).toMatchObject({ exitCode: null, signal: null });
    expect(exit.lastLines.join()).toContain(`Could not start ${file}: `);
    expect(exit.lastLines.join()).toContain(words);
    child.handle.stop({ loading: true, timeoutMillis: 1 });
    child.handle.kill();
    expect(child.exits).toHaveLength(1);
  });

  it('is also reported of a command that no system could start', async () => {
    const child = watch({ file: process.execPath, args: ['a\0b'], env: {} });
    expect((await child.exited).lastLines.join()).toContain(`Could not start ${process.execPath}: `);
  });

  it('takes its grandchildren along', async () => {
    const child = start(`
      import { spawn } from 'node:child_process';
      const grandchild = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
      console.log('grandchild ' + grandchild.pid);
      process.stdin.once('data', () => process.exit(0));`);
    const line = await until('the grandchild runs', () => child.log.find((text) => text.startsWith('grandchild ')));
    const pid = Number(line.split(' ')[1]);
    expect(isRunning(pid)).toBe(true);
    child.handle.stop({ loading: false, timeoutMillis: 30_000 });
    await child.exited;
    await until('the grandchild is gone', () => !isRunning(pid));
  });

  it('does not wait for a stranger who holds its pipes', async () => {
    const child = start(`
      import { spawn } from 'node:child_process';
      const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit', detached: true });
      stranger.unref();
      console.log('stranger ' + stranger.pid);`);
    const exit = await child.exited;
    expect(exit.exitCode).toBe(0);
    const pid = Number(exit.lastLines.find((line) => line.startsWith('stranger '))?.split(' ')[1]);
    process.kill(pid, 'SIGKILL');
  });
});

describe('stopping a child', () => {
  it('asks a loaded one by a message', async () => {
    const child = start(POLITE);
    await isUp(child);
    child.handle.stop({ loading: false, timeoutMillis: 30_000 });
    expect(await child.exited).toMatchObject({ exitCode: 7, signal: null, asked: true });
    expect(child.log).toContain('heard cmd_router_to_child:exit');
  });

  it('signals one that is loading', async () => {
    const child = start(
      `process.on('SIGTERM', () => process.exit(9)); setInterval(() => {}, 1000); console.log('up');`,
    );
    await isUp(child);
    child.handle.stop({ loading: true, timeoutMillis: 30_000 });
    expect(await child.exited).toMatchObject({ exitCode: 9, asked: true });
  });

  it('kills one that does not leave in time', async () => {
    const child = start(STUBBORN);
    await isUp(child);
    child.handle.stop({ loading: true, timeoutMillis: 300 });
    await until('it has heard the signal', () => child.log.includes('not yet'));
    expect(await child.exited).toMatchObject({ exitCode: null, signal: 'SIGKILL', asked: true });
  });

  it('keeps the earliest limit when asked again', async () => {
    const child = start(STUBBORN);
    await isUp(child);
    child.handle.stop({ loading: false, timeoutMillis: 1e12 });
    child.handle.stop({ loading: false, timeoutMillis: 300 });
    child.handle.stop({ loading: false, timeoutMillis: 3_600_000 });
    expect(await child.exited).toMatchObject({ signal: 'SIGKILL' });
  });

  it('kills at once without a limit', async () => {
    const child = start(STUBBORN);
    await isUp(child);
    child.handle.stop({ loading: false, timeoutMillis: 0 });
    expect(await child.exited).toMatchObject({ signal: 'SIGKILL', asked: true });
    expect(child.log).not.toContain('not yet');
  });

  it('outlasts one that has closed its stdin', async () => {
    const child = start(
      `import { closeSync } from 'node:fs'; closeSync(0); setInterval(() => {}, 1000); console.log('up');`,
    );
    await isUp(child);
    child.handle.stop({ loading: false, timeoutMillis: 300 });
    expect((await child.exited).asked).toBe(true);
  });
});

describe('a child whose supervisor ends', () => {
  const program = `
    import { spawnChild } from ${JSON.stringify(new URL('../../dist/src/engines/child-process.js', import.meta.url).href)};
    import { withParentDeath } from ${JSON.stringify(new URL('../../dist/native/parent-death.js', import.meta.url).href)};
    const [file, ...args] = JSON.parse(process.argv[2]);
    const prepare = process.argv[3] === 'signalled' ? withParentDeath : (command) => command;
    const child = spawnChild({
      command: prepare({ file, args, env: { PATH: process.env.PATH } }),
      reader: { read: () => null }, onMessage() {}, onExit() {},
      onLog(line) { if (line === 'up') console.log(child.pid); },
    });
    process.once('SIGUSR2', () => { throw new Error('a crash'); });`;

  async function supervise(source: string, way: string, signal: NodeJS.Signals): Promise<void> {
    const { file, args } = script(source);
    const path = join(mkdtempSync(join(tmpdir(), 'supervisor-')), 'supervisor.mjs');
    writeFileSync(path, program);
    const supervisor = execa(process.execPath, [path, JSON.stringify([file, ...args]), way], { reject: false });
    let text = '';
    supervisor.stdout.on('data', (chunk) => (text += String(chunk)));
    const pid = Number(await until('the child is up', () => text.includes('\n') && text));
    expect(isRunning(pid)).toBe(true);
    supervisor.kill(signal);
    await supervisor;
    await until('the child is gone', () => !isRunning(pid));
  }

  it('by a kill: goes by the end of its stdin', () => supervise(POLITE, 'plain', 'SIGKILL'));

  it('by an uncaught error: is killed', () => supervise(STUBBORN, 'plain', 'SIGUSR2'));

  it.runIf(process.platform === 'linux')('by a kill: dies even if it reads nothing and ignores signals', () =>
    supervise(STUBBORN, 'signalled', 'SIGKILL'),
  );
});

describe('a free port', () => {
  it('can be bound, and is not offered twice in a row', async () => {
    const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()));
    expect(new Set(ports).size).toBe(ports.length);
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(ports[0], '127.0.0.1', resolve);
    });
    server.close();
  });
});
