import { describe, expect, it } from 'vitest';
import { ProcessOwners } from '../../src/devices/process-owner.js';
import type { ProcessRow } from '../../src/devices/process-table.js';
import { ProcessTrees, readChildren } from '../../src/devices/process-trees.js';
import { script, watch } from '../support/node-child.js';
import { until } from '../support/until.js';

const row = (pid: number, parent: number, group: number): ProcessRow => ({ pid, parent, group });
const TREE = { model: 'a', generation: 1, pids: [10] };

/** A machine whose processes change, a clock that is set by hand, and how often each was read. */
class Machine {
  table: readonly ProcessRow[] = [row(10, 1, 10), row(11, 10, 10)];
  now = 0;
  tables = 0;
  listsChildren = true;
  readonly trees: ProcessTrees = new ProcessTrees(
    {
      table: () => Promise.resolve((this.tables++, this.table)),
      children: (pid) => {
        if (!this.table.some((process) => process.pid === pid)) return undefined;
        return this.listsChildren ? this.table.filter(({ parent }) => parent === pid).map((child) => child.pid) : null;
      },
    },
    () => this.now,
  );

  async pids(at: number, ...trees: readonly (typeof TREE)[]): Promise<readonly (readonly number[])[]> {
    this.now = at;
    const whole = await this.trees.complete(trees.length === 0 ? [TREE] : trees);
    return whole.map(({ pids }) => [...pids].sort((a, b) => a - b));
  }
}

describe('process trees', () => {
  it('are completed from the table of all processes, which is read again only now and then', async () => {
    const machine = new Machine();
    for (let at = 0; at <= 60_000; at += 150) expect(await machine.pids(at)).toEqual([[10, 11]]);
    // Once when new, every 2 s for 10 s, every 30 s afterwards.
    expect(machine.tables).toBeLessThanOrEqual(9);
  });

  it('are read at once when one is new', async () => {
    const machine = new Machine();
    await machine.pids(0);
    machine.table = [...machine.table, row(20, 1, 20), row(21, 20, 20)];
    const other = { model: 'b', generation: 2, pids: [20] };
    expect(await machine.pids(1, TREE, other)).toEqual([
      [10, 11],
      [20, 21],
    ]);
  });

  it('grow with their children’s children, and lose those that have gone, without the table', async () => {
    const machine = new Machine();
    await machine.pids(0);
    await machine.pids(10_000);
    const { tables } = machine;
    machine.table = [row(10, 1, 10), row(12, 10, 10), row(13, 12, 12)];
    expect(await machine.pids(13_000)).toEqual([[10, 12, 13]]);
    machine.table = [];
    // The root is named for as long as somebody asks for it: a driver may still count memory for it.
    expect(await machine.pids(16_000)).toEqual([[10]]);
    expect(machine.tables).toBe(tables);
  });

  it('find orphans of their process groups with the next table', async () => {
    const machine = new Machine();
    await machine.pids(0);
    machine.table = [row(10, 1, 10), row(14, 1, 10)];
    expect(await machine.pids(50_000)).toEqual([[10, 14]]);
  });

  it('are read from the table more often where the kernel lists no children', async () => {
    const machine = new Machine();
    machine.listsChildren = false;
    await machine.pids(0);
    await machine.pids(15_000);
    await machine.pids(18_000);
    machine.table = [row(10, 1, 10), row(15, 10, 10)];
    expect(await machine.pids(21_000)).toEqual([[10, 15]]);
  });
});

describe.runIf(process.platform === 'linux')('the kernel', () => {
  it('lists the children of a process, and knows which has gone', async () => {
    const child = watch(
      script(`
        import { spawn } from 'node:child_process';
        const grandchild = spawn('sleep', ['600'], { stdio: 'ignore' });
        console.log('grandchild', grandchild.pid);
        setInterval(() => undefined, 1000);`),
    );
    const pid = child.handle.pid ?? 0;
    const grandchild = await until('it is there', () => /grandchild (\d+)/.exec(child.log.join('\n'))?.[1]);
    expect(readChildren(pid)).toEqual([Number(grandchild)]);
    child.handle.kill();
    await child.exited;
    await until('it is gone', () => readChildren(pid) === undefined);
  });
});

describe('the owner of a process', () => {
  const trees = [
    { model: 'a', generation: 1, pids: [10, 11] },
    { model: 'b', generation: 2, pids: [20] },
  ];
  const table = new Map(
    [row(10, 1, 10), row(12, 11, 99), row(13, 12, 13), row(30, 1, 30), row(14, 1, 20)].map((r) => [r.pid, r]),
  );
  const reads: number[] = [];
  const owners = (): ProcessOwners =>
    new ProcessOwners((pid) => {
      reads.push(pid);
      return table.get(pid) ?? null;
    });

  it('is found by its ancestors, and by its group when they have gone', () => {
    const found = owners().find([10, 11, 13, 14, 30, 31], trees);
    expect([...found].map(([pid, { model }]) => [pid, model])).toEqual([
      [10, 'a'],
      [11, 'a'],
      [13, 'a'],
      [14, 'b'],
    ]);
  });

  it('is not looked for again while the process is listed, but is once it was not', () => {
    const one = owners();
    one.find([13, 30], trees);
    reads.length = 0;
    expect([...one.find([13, 30], trees).keys()]).toEqual([13]);
    expect(reads).toEqual([]);
    one.find([], trees);
    one.find([30], trees);
    expect(reads).toEqual([30]);
  });
});
