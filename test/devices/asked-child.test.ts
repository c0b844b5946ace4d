import { afterEach, describe, expect, it } from 'vitest';
import { AskedChild, type AskedChildOptions } from '../../src/devices/asked-child.js';
import { tempTree } from '../support/temp-tree.js';
import { isRunning, until } from '../support/until.js';

const started: AskedChild[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.close();
});

/** A child that runs this JavaScript for each line, and may say something before. */
function childThat(onLine: string, options: Partial<AskedChildOptions> = {}, first = ''): AskedChild {
  const directory = tempTree({
    'child.mjs': `
      import { createInterface } from 'node:readline';
      import { appendFileSync, readFileSync } from 'node:fs';
      const start = new URL('./starts', import.meta.url);
      appendFileSync(start, 'x');
      const starts = readFileSync(start, 'utf8').length;
      ${first}
      createInterface({ input: process.stdin }).on('line', () => { ${onLine} });`,
  });
  const args = [`${directory}/child.mjs`];
  const child = new AskedChild({ title: 'It', file: process.execPath, args, pauseMillis: 1, ...options });
  started.push(child);
  return child;
}

const HANG = 'for (;;);';

describe('a child that is asked', () => {
  it('answers line by line, and is started once', async () => {
    const child = childThat('console.log(starts)');
    expect(await child.ask()).toBe('1');
    const { pid } = child;
    expect(await child.ask()).toBe('1');
    expect(child.pid).toBe(pid);
  });

  it('is killed when it hangs, and another one started', async () => {
    const child = childThat(`if (starts === 1) ${HANG} console.log('the ' + starts + 'nd')`, {
      startLimitMillis: 2000,
    });
    const asked = child.ask();
    const pid = child.pid ?? 0;
    await expect(asked).rejects.toThrow('It does not answer; the driver hangs, or is very slow.');
    await until('it has gone', () => !isRunning(pid));
    expect(await until('it answers', () => child.ask().catch(() => null))).toBe('the 2nd');
  });

  it('leaves its last words when it dies', async () => {
    const child = childThat(
      `console.error('Xid 79: GPU has fallen off the bus'); process.kill(process.pid, 'SIGSEGV')`,
    );
    await expect(child.ask()).rejects.toThrow(
      'It: its reader was ended by SIGSEGV; it said last: Xid 79: GPU has fallen off the bus.',
    );
  });

  it('is not started again at once: meanwhile the failure is repeated without waiting', async () => {
    const child = childThat('process.exit(3)', { pauseMillis: 600_000, longestPauseMillis: 600_000 });
    await expect(child.ask()).rejects.toThrow('its reader ended with code 3');
    await expect(child.ask()).rejects.toThrow('its reader ended with code 3');
    expect(child.pid).toBeNull();
  });

  it('says what could not be started', async () => {
    const child = new AskedChild({ title: 'It', file: '/nowhere/program', args: [] });
    await expect(child.ask()).rejects.toThrow('It: its reader could not be started (spawn /nowhere/program ENOENT).');
  });

  it('is ended by a failure that it told itself, and the words of that stay', async () => {
    const child = childThat(`console.log('refused')`, { pauseMillis: 600_000, longestPauseMillis: 600_000 });
    expect(await child.ask()).toBe('refused');
    const pid = child.pid ?? 0;
    child.failed('Driver/library version mismatch');
    await expect(child.ask()).rejects.toThrow('Driver/library version mismatch');
    await until('it has gone', () => !isRunning(pid));
    await expect(child.ask()).rejects.toThrow('Driver/library version mismatch');
  });

  it('has nothing in its environment that would make Node do more', async () => {
    const child = childThat(`console.log(String(process.env.NODE_OPTIONS))`);
    expect(await child.ask()).toBe('undefined');
  });
});
