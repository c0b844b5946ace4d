import { readFileSync } from 'node:fs';

/**
 * When a process was started, in clock ticks since boot, as text: with the pid it names one process for ever,
 * since pids are given out again. Null where it cannot be told (no /proc), undefined when there is no such
 * process, or only its remains (a zombie).
 */
export function readStartTime(pid: number): string | null | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return exists(pid) ? null : undefined;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  // proc(5): field 3 is the state, field 22 the start time.
  return fields[0] === 'Z' ? undefined : (fields[19] ?? null);
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
