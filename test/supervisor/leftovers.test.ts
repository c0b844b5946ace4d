import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { withParentDeath } from '../../native/parent-death.js';
import type { Command } from '../../src/engines/engine.js';
import { InstanceRecords, type InstanceRecord } from '../../src/supervisor/instance-records.js';
import { endLeftovers } from '../../src/supervisor/leftovers.js';
import { tempTree } from '../support/temp-tree.js';
import { isRunning, until } from '../support/until.js';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const { pid } of started.splice(0)) if (pid !== undefined && isRunning(pid)) process.kill(-pid, 'SIGKILL');
});

const environment = { PATH: process.env['PATH'] ?? '', LLAMA_SERVER_ROUTER_PORT: '54321' };
/** Runs until it is killed: it does not leave when asked. */
const STUBBORN = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up ' + process.pid);`;
/** Starts one like that in its own group, says its pid, and goes. */
const PARENT = `
  const { spawn } = require('node:child_process');
  const child = spawn(process.execPath, ['-e', ${JSON.stringify(STUBBORN)}], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.once('data', (data) => { console.log(String(data)); process.exit(0); });`;

const run = (source: string): Command => ({ file: process.execPath, args: ['-e', source, 'a b'], env: environment });

/** Starts a command in a process group of its own; gives its pid and the pid that it says is up. */
async function start(command: Command): Promise<{ readonly pid: number; readonly up: number }> {
  const child = spawn(command.file, command.args, {
    env: command.env,
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  started.push(child);
  const [data] = (await once(child.stdout, 'data')) as [Buffer];
  return { pid: child.pid ?? 0, up: Number(/up (\d+)/u.exec(String(data))?.[1]) };
}

/** Records a child as a supervisor does, with one thing about it changed. */
function record(pid: number, command: Command, change: Partial<InstanceRecord> = {}): string {
  const directory = join(tempTree({}), 'instances');
  const failures: string[] = [];
  new InstanceRecords(directory, (message) => failures.push(message)).add(pid, command, 'a model');
  expect(failures).toEqual([]);
  const [name = ''] = readdirSync(directory);
  const path = join(directory, name);
  const kept = JSON.parse(readFileSync(path, 'utf8')) as InstanceRecord;
  writeFileSync(path, JSON.stringify({ ...kept, ...change }));
  return directory;
}

describe.runIf(process.platform === 'linux')('what a killed supervisor has left behind', () => {
  it.each(['as it is', 'with a parent-death signal'])(
    'is ended when it is a child that was recorded, %s',
    async (how) => {
      const command = how === 'as it is' ? run(STUBBORN) : withParentDeath(run(STUBBORN));
      const { pid } = await start(command);
      const directory = record(pid, command);
      expect(await endLeftovers(directory)).toEqual([expect.stringContaining(`a model (pid ${pid})`)]);
      expect(isRunning(pid)).toBe(false);
      expect(readdirSync(directory)).toEqual([]);
    },
  );

  it.each<[string, (record: InstanceRecord) => Partial<InstanceRecord>]>([
    ['start time', ({ startTime }) => ({ startTime: String(Number(startTime) - 1) })],
    ['command line', () => ({ argDigest: 'of something else' })],
    ['boot', () => ({ boot: 'an earlier one' })],
  ])('is left alone when its pid is that of a record, but its %s is not', async (_what, change) => {
    const command = run(STUBBORN);
    const { pid } = await start(command);
    const directory = record(pid, command);
    const path = join(directory, `${pid}.json`);
    const kept = JSON.parse(readFileSync(path, 'utf8')) as InstanceRecord;
    writeFileSync(path, JSON.stringify({ ...kept, ...change(kept) }));
    expect(await endLeftovers(directory)).toEqual([]);
    expect(isRunning(pid)).toBe(true);
    expect(existsSync(path), 'nor asked about again').toBe(false);
  });

  it('is ended when it was started by a child that has gone', async () => {
    const parent = run(PARENT);
    const child = spawn(parent.file, parent.args, {
      env: parent.env,
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    started.push(child);
    const directory = record(child.pid ?? 0, parent);
    const [data] = (await once(child.stdout, 'data')) as [Buffer];
    const grandchild = Number(/up (\d+)/u.exec(String(data))?.[1]);
    await until('its parent has gone', () => !isRunning(child.pid ?? 0));
    expect(isRunning(grandchild)).toBe(true);
    expect(await endLeftovers(directory)).toEqual([expect.stringContaining(`pid ${grandchild}`)]);
    expect(isRunning(grandchild)).toBe(false);
  });

  it('is nothing where records are damaged, or mean everybody', async () => {
    const { pid } = await start(run(STUBBORN));
    const kept = { startTime: '1', boot: '', argCount: 0, argDigest: '', port: '', name: '' };
    const directory = tempTree({
      'one.json': '{"pid":',
      'two.json': 'null',
      'three.json': JSON.stringify({ ...kept, pid: -1 }),
      'four.json': JSON.stringify({ ...kept, pid: 1 }),
      'five.json.tmp': 'half',
      'six.json/': '',
    });
    expect(await endLeftovers(directory)).toEqual([]);
    expect(await endLeftovers(join(directory, 'no such directory'))).toEqual([]);
    expect(isRunning(pid)).toBe(true);
  });

  it('is forgotten with the end of the child', async () => {
    const command = run(STUBBORN);
    const { pid } = await start(command);
    const directory = tempTree({});
    const forget = new InstanceRecords(directory, () => undefined).add(pid, command, 'a model');
    expect(readdirSync(directory)).toEqual([`${pid}.json`]);
    forget();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('ends nobody who serves where its record cannot be removed', async () => {
    const command = run(STUBBORN);
    const { pid } = await start(command);
    const directory = join(tempTree({}), 'instances');
    const forget = new InstanceRecords(directory, () => undefined).add(pid, command, 'a model');
    rmSync(directory, { recursive: true });
    writeFileSync(directory, 'a file where records were');
    expect(forget).not.toThrow();
  });

  it.runIf(process.geteuid?.() !== 0)('is no reason not to start where a record is of somebody else', async () => {
    const directory = tempTree({ '4711.json': '{}' });
    chmodSync(directory, 0o500);
    expect(await endLeftovers(directory)).toEqual([]);
    chmodSync(directory, 0o700);
  });
});
