import { readdirSync, readFileSync } from 'node:fs';
import type { Millis } from '../scheduler/units.js';
import type { ProcessTree } from './probe.js';
import { findTree, readProcessRow, readProcessTable, type ProcessRow } from './process-table.js';

/** How long a tree is good for before its processes are asked for their children again. */
const WALK_MILLIS: Millis = 2000;
/** A tree that was first seen longer ago has found its shape: orphans are rare in it. */
const YOUNG_MILLIS: Millis = 10_000;
/** How long the table of all processes, which orphans of a process group can be told by, is good for then. */
const TABLE_MILLIS: Millis = 30_000;

export interface ProcessSource {
  /** All processes; null where they cannot be read. */
  readonly table: () => Promise<readonly ProcessRow[] | null>;
  /** The children of one process; null where the kernel does not list them, undefined when the process has gone. */
  readonly children: (pid: number) => readonly number[] | null | undefined;
}

const SYSTEM: ProcessSource = { table: readProcessTable, children: readChildren };

interface Known {
  readonly firstSeen: Millis;
  readonly pids: readonly number[];
}

/**
 * Completes process trees of which only the roots are given. Reading all processes of a machine is dear, and devices are
 * sampled several times a second while a model loads: it is done when a tree is new, some more times while it is
 * young, and now and then. In between the processes that are known are asked for their children.
 */
export class ProcessTrees {
  readonly #source: ProcessSource;
  readonly #now: () => Millis;
  #known = new Map<string, Known>();
  #walkedAt: Millis = -Infinity;
  #tableReadAt: Millis = -Infinity;
  #listsChildren = true;

  constructor(source: ProcessSource = SYSTEM, now: () => Millis = () => performance.now()) {
    this.#source = source;
    this.#now = now;
  }

  async complete(trees: readonly ProcessTree[]): Promise<readonly ProcessTree[]> {
    if (trees.length === 0) {
      this.#known.clear();
      return trees;
    }
    const now = this.#now();
    if (this.#needsTable(trees, now)) await this.#readTable(trees, now);
    else if (now - this.#walkedAt >= WALK_MILLIS) this.#walk(now);
    return trees.map((tree) => ({ ...tree, pids: this.#known.get(keyOf(tree))?.pids ?? tree.pids }));
  }

  #needsTable(trees: readonly ProcessTree[], now: Millis): boolean {
    const known = trees.map((tree) => this.#known.get(keyOf(tree)));
    if (known.some((tree) => tree === undefined)) return true;
    const isYoung = known.some((tree) => tree !== undefined && now - tree.firstSeen < YOUNG_MILLIS);
    return now - this.#tableReadAt >= (isYoung || !this.#listsChildren ? WALK_MILLIS : TABLE_MILLIS);
  }

  async #readTable(trees: readonly ProcessTree[], now: Millis): Promise<void> {
    const table = (await this.#source.table()) ?? [];
    this.#walkedAt = this.#tableReadAt = now;
    this.#known = new Map(
      trees.map((tree) => {
        const key = keyOf(tree);
        return [key, { firstSeen: this.#known.get(key)?.firstSeen ?? now, pids: findTree(tree.pids, table) }];
      }),
    );
  }

  #walk(now: Millis): void {
    this.#walkedAt = now;
    for (const [key, tree] of this.#known) this.#known.set(key, { ...tree, pids: this.#grown(key, tree.pids) });
  }

  /** The processes of a tree that are still there, its roots in any case, and what came below them. */
  #grown(key: string, pids: readonly number[]): readonly number[] {
    const grown = new Set(key.split(' ').map(Number));
    const open = [...new Set([...grown, ...pids])];
    for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
      const children = this.#source.children(pid);
      if (children === undefined) continue;
      grown.add(pid);
      if (children === null) this.#listsChildren = false;
      else open.push(...children.filter((child) => !grown.has(child)));
    }
    return [...grown];
  }
}

function keyOf({ pids }: ProcessTree): string {
  return pids.join(' ');
}

/** proc(5), /proc/PID/task/TID/children: every thread lists those that it started itself. */
export function readChildren(pid: number): readonly number[] | null | undefined {
  let threads: readonly string[];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    return undefined;
  }
  const lists = threads.map((thread) => childrenOfThread(pid, thread)).filter((list) => list !== null);
  if (lists.length > 0) return lists.flat();
  return readProcessRow(pid) === null ? undefined : null;
}

/** Null when the thread has ended since, or the kernel was built without this file. */
function childrenOfThread(pid: number, thread: string): readonly number[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return null;
  }
}
