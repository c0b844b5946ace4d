import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** One process, as /proc/PID/stat has it. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
}

/** So many processes are read in one turn of the event loop, which takes 0.2 ms: streams go on in between. */
const ROWS_A_TURN = 16;

/** All processes that this one can see; null where there is no /proc (macOS, Windows). */
export async function readProcessTable(): Promise<readonly ProcessRow[] | null> {
  let names: string[];
  try {
    names = await readdir('/proc');
  } catch {
    return null;
  }
  const pids = names.filter((name) => /^\d+$/.test(name));
  if (pids.length === 0) return null;
  const rows: ProcessRow[] = [];
  for (let start = 0; start < pids.length; start += ROWS_A_TURN) {
    if (start > 0) await nextTurn();
    const found = pids.slice(start, start + ROWS_A_TURN).map((pid) => readProcessRow(Number(pid)));
    rows.push(...found.filter((row) => row !== null));
  }
  return rows;
}

/**
 * The given processes, everything below them, and whatever is left of the process groups they lead: a
 * grandchild whose parent has gone belongs to init, and can still be told by its group. Processes that have
 * gone themselves stay in the answer, since a driver may still count memory for them.
 */
export function findTree(roots: readonly number[], table: readonly ProcessRow[]): readonly number[] {
  const tree = new Set(roots);
  const groups = new Set(roots);
  // Children may come before their parents in the table, as pids are given out again.
  for (let grown = true; grown;) {
    const before = tree.size;
    for (const { pid, parent, group } of table) {
      if (tree.has(parent) || groups.has(group)) tree.add(pid);
    }
    grown = tree.size > before;
  }
  return [...tree];
}

/**
 * Reads from the kernel's memory: it neither waits nor fails but for a process that has gone. In turn, and not through
 * Node's threads, which would cost the event loop three times as much.
 */
export function readProcessRow(pid: number): ProcessRow | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return null;
  }
}

/**
 * Reads /proc/PID/stat. The name in the second field is free text: it may contain spaces, parentheses and newlines.
 */
function parseStat(text: string): ProcessRow | null {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [pid, parent, group] = [text.slice(0, text.indexOf(' ')), fields[1], fields[2]].map(Number);
  return pid === undefined || parent === undefined || group === undefined ? null : { pid, parent, group };
}
