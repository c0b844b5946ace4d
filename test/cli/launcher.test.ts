import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { descendants, temporaryDirectory, testEnvironment } from '../support/serving.js';
import { isRunning, until } from '../support/until.js';

const ROOT = resolve(import.meta.dirname, '../..');
const AS_NODE_20 = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'})`;

/** An installation of its own, with or without a newer Node in it. */
function installation(withNewerNode: boolean): string {
  const root = temporaryDirectory();
  cpSync(join(ROOT, 'bin'), join(root, 'bin'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(root, 'package.json'));
  symlinkSync(join(ROOT, 'dist'), join(root, 'dist'));
  mkdirSync(join(root, 'node_modules/.bin'), { recursive: true });
  if (withNewerNode) symlinkSync(process.execPath, join(root, 'node_modules/.bin/node'));
  return root;
}

/** Starts the launcher as if by a Node that is too old. */
function launch(root: string, ...args: readonly string[]): { child: ReturnType<typeof spawn>; output: () => string } {
  const file = join(root, 'bin/llm-tui.js');
  const child = spawn(process.execPath, ['--import', AS_NODE_20, file, ...args], { env: testEnvironment(root) });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  return { child, output: () => output };
}

describe('the launcher on a Node that is too old', () => {
  it('restarts itself with the newer one of its installation, arguments and exit code included', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const good = launch(installation(true), '--version');
    expect(await once(good.child, 'close')).toEqual([0, null]);
    expect(good.output().trim()).toBe(version);
    const bad = launch(installation(true), 'serve', '--port', 'none');
    expect(await once(bad.child, 'close')).toEqual([2, null]);
  });

  it('says what it needs when there is none', async () => {
    const { child, output } = launch(installation(false), '--version');
    expect(await once(child, 'close')).toEqual([1, null]);
    expect(output()).toMatch(/^llm-tui needs Node 22 or newer; this is 20\.20\.2\. .*npm ci/u);
    expect(output().trim().split('\n')).toHaveLength(1);
  });

  it('takes the program with it when it is killed', async () => {
    const { child, output } = launch(installation(true), 'serve', '--engine', 'sim', '--port', '0');
    await until('it listens', () => output().includes('listens at'));
    const pids = descendants(child.pid ?? 0);
    expect(pids.length).toBeGreaterThan(0);
    child.kill('SIGKILL');
    await until('nothing is left', () => pids.every((pid) => !isRunning(pid)));
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('passes on a %s that came to it alone', async (signal) => {
    const { child, output } = launch(installation(true), '--engine', 'sim', 'serve', '--port', '0');
    await until('it listens', () => output().includes('listens at'));
    const pids = descendants(child.pid ?? 0);
    child.kill(signal);
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(pids.filter(isRunning)).toEqual([]);
  });
});
