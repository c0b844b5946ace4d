import { readFileSync } from 'node:fs';

/** In hundredths of a second of one processor. */
interface Ticks {
  readonly busy: number;
  readonly all: number;
  readonly ours: number;
}

/**
 * Begins to watch; the function returned tells which share of the machine's processors others than this process and all
 * below it have used since then, 0..1 (Linux; 0 elsewhere).
 */
export function watchOthers(): () => number {
  const before = ticks();
  return () => {
    const after = ticks();
    if (before === null || after === null || after.all === before.all) return 0;
    return (after.busy - before.busy - (after.ours - before.ours)) / (after.all - before.all);
  };
}

function ticks(): Ticks | null {
  try {
    const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
    // proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
    const parts = line.split(/\s+/u).slice(1, 9).map(Number);
    const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, ...interrupted] = parts;
    const busy = [user, nice, system, ...interrupted].reduce((sum, part) => sum + part, 0);
    const ours = [process.pid, ...below(process.pid)].reduce((sum, pid) => sum + ticksOf(pid), 0);
    return { busy, all: busy + idle + waiting, ours };
  } catch {
    return null;
  }
}

function below(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...below(child)]);
}

function ticksOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /su, '')
    .split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
