import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Millis } from '../../scheduler/units.js';

/** Looking through every process is dear, and programs that use a GPU come and go seldom. */
const KNOWN_FOR_MILLIS: Millis = 5000;
const PARALLEL_READS = 32;

/** The processes that have a GPU open, as far as they may be looked at: those of other users may not. */
export class GpuUsers {
  readonly #proc: string;
  readonly #now: () => Millis;
  #found: readonly number[] = [];
  #foundAt: Millis = -Infinity;

  constructor(procDirectory: string, now: () => Millis = () => performance.now()) {
    this.#proc = procDirectory;
    this.#now = now;
  }

  async pids(): Promise<readonly number[]> {
    if (this.#now() - this.#foundAt < KNOWN_FOR_MILLIS) return this.#found;
    this.#foundAt = this.#now();
    const pids = (await readdir(this.#proc).catch(() => [])).filter((name) => /^\d+$/u.test(name)).map(Number);
    const users: number[] = [];
    for (let start = 0; start < pids.length; start += PARALLEL_READS) {
      const some = pids.slice(start, start + PARALLEL_READS);
      const uses = await Promise.all(some.map((pid) => this.#hasOpen(pid)));
      users.push(...some.filter((_, index) => uses[index]));
    }
    this.#found = users;
    return users;
  }

  async #hasOpen(pid: number): Promise<boolean> {
    const directory = join(this.#proc, String(pid), 'fd');
    const names = await readdir(directory).catch(() => []);
    const links = await Promise.all(names.map((name) => readlink(join(directory, name)).catch(() => '')));
    return links.some((link) => link.startsWith('/dev/dri/'));
  }
}
