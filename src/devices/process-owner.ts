import type { ProcessTree } from './probe.js';
import { readProcessRow, type ProcessRow } from './process-table.js';

/** A process is that many steps from its root at most: chains of launchers are short. */
const MOST_STEPS = 16;

/**
 * Tells which tree a process belongs to that no tree names: one that was started since the trees were read, or an
 * orphan in a root's process group. Costs nothing for processes that were asked about before and are still there,
 * which is nearly all of them, nearly always.
 */
export class ProcessOwners {
  readonly #read: (pid: number) => ProcessRow | null;
  /** By pid; the generation of the tree, or null for a stranger. */
  #known = new Map<number, number | null>();

  constructor(read: (pid: number) => ProcessRow | null = readProcessRow) {
    this.#read = read;
  }

  /** The tree of each listed pid; pids of strangers are not in the answer. */
  find(pids: readonly number[], trees: readonly ProcessTree[]): ReadonlyMap<number, ProcessTree> {
    const byPid = new Map(trees.flatMap((tree) => tree.pids.map((pid) => [pid, tree] as const)));
    const byGeneration = new Map(trees.map((tree) => [tree.generation, tree]));
    const before = this.#known;
    this.#known = new Map();
    const owners = new Map<number, ProcessTree>();
    for (const pid of pids) {
      const known = byPid.get(pid)?.generation ?? before.get(pid);
      const generation = known === undefined ? (this.#climb(pid, byPid)?.generation ?? null) : known;
      // Of those that are no longer listed nothing is kept: their numbers are given out again.
      this.#known.set(pid, generation);
      const tree = generation === null ? undefined : byGeneration.get(generation);
      if (tree !== undefined) owners.set(pid, tree);
    }
    return owners;
  }

  #climb(pid: number, byPid: ReadonlyMap<number, ProcessTree>): ProcessTree | null {
    for (let at = pid, step = 0; at > 1 && step < MOST_STEPS; step++) {
      const row = this.#read(at);
      if (row === null) return null;
      const tree = byPid.get(row.parent) ?? byPid.get(row.group);
      if (tree !== undefined) return tree;
      at = row.parent;
    }
    return null;
  }
}
