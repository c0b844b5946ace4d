import { readFileSync } from 'node:fs';

/**
 * CPU time that a process and those of its children that have ended have used so far, in clock ticks; null where it
 * cannot be told (no /proc, or no such process). Source: proc(5), fields 14 to 17 of /proc/PID/stat.
 */
export function readCpuTicks(pid: number): number | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in the second field is free text; what follows its last parenthesis is regular.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return Number.isSafeInteger(ticks) ? ticks : null;
  } catch {
    return null;
  }
}
