import { describe, expect, it } from 'vitest';
import { readStartTime } from '../../src/devices/process-start.js';
import { findTree, readProcessTable } from '../../src/devices/process-table.js';

describe('the processes of an instance', () => {
  const row = (pid: number, parent: number, group: number) => ({ pid, parent, group });

  it('are its child and all descendants, in whatever order the table has them', () => {
    const table = [row(12, 11, 10), row(30, 1, 30), row(11, 10, 10), row(10, 1, 10), row(13, 12, 13)];
    expect(new Set(findTree([10], table))).toEqual(new Set([10, 11, 12, 13]));
  });

  it('include orphans of its process group, and what they started elsewhere', () => {
    const table = [row(20, 1, 10), row(21, 20, 21), row(40, 1, 40)];
    expect(new Set(findTree([10], table))).toEqual(new Set([10, 20, 21]));
  });

  it('are still named when they have gone', () => {
    expect(findTree([10], [])).toEqual([10]);
  });
});

describe.runIf(process.platform === 'linux')('the process table', () => {
  it('has this process in it', async () => {
    const table = await readProcessTable();
    expect(table?.find(({ pid }) => pid === process.pid)?.parent).toBe(process.ppid);
  });

  it('tells when a process was started, and that there is none', () => {
    expect(readStartTime(process.pid)).toMatch(/^\d+$/);
    expect(readStartTime(2 ** 30)).toBeUndefined();
  });
});
