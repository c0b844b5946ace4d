import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';

const PROBE_LIMIT_MILLIS = 2000;

/** The part of a command that a parent-death signal changes. */
interface Runnable {
  readonly file: string;
  readonly args: readonly string[];
}

type Support = { readonly setpriv: string } | { readonly missing: string };

let support: Support | undefined;

/**
 * Has the kernel kill the command's process when the thread that starts it ends, even by SIGKILL: util-linux's
 * `setpriv --pdeathsig` sets the signal and becomes the program itself, so pid, pipes and process group stay
 * what they were. Elsewhere the command is returned as it is, and only the end of its stdin tells the child.
 *
 * To be called where the child is started from the main thread: the kernel watches the thread, not the process
 * (prctl(2), PR_SET_PDEATHSIG). The signal does not reach the child's own children.
 */
export function withParentDeath<T extends Runnable>(command: T): T {
  support ??= findSupport();
  if ('missing' in support) return command;
  return { ...command, file: support.setpriv, args: ['--pdeathsig', 'KILL', '--', command.file, ...command.args] };
}

/** The command itself, without what `withParentDeath` has put around it: what the process will be called in the end. */
export function withoutParentDeath<T extends Runnable>(command: T): T {
  const [flag, signal, dashes, file, ...args] = command.args;
  const isWrapped = flag === '--pdeathsig' && signal === 'KILL' && dashes === '--' && file !== undefined;
  return isWrapped ? { ...command, file, args } : command;
}

/** <linux/prctl.h>, <signal.h> */
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

/**
 * Has the kernel kill this process when the thread that started it ends, for children of ours that are Node programs:
 * without `setpriv`, and in time also for one that hangs in a foreign call later on. False where that cannot be had;
 * the end of stdin has to do then. Whoever calls it has a parent still: one that has gone before is seen by stdin too.
 */
export function dieWithParent(): boolean {
  if (process.platform !== 'linux') return false;
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    const prctl = koffi.load(null).func('int prctl(int option, unsigned long value)') as (...args: number[]) => number;
    return prctl(PR_SET_PDEATHSIG, SIGKILL) === 0;
  } catch {
    return false;
  }
}

/** True when the kernel ends the children of a killed supervisor. */
export function hasParentDeath(): boolean {
  support ??= findSupport();
  return !('missing' in support);
}

/** One sentence: how a child learns that its supervisor was killed. */
export function describeParentDeath(): string {
  support ??= findSupport();
  return 'missing' in support
    ? `A killed supervisor is noticed by its children through their stdin only, once they have loaded: ${support.missing}.`
    : `A killed supervisor takes its children along (${support.setpriv} --pdeathsig).`;
}

function findSupport(): Support {
  if (process.platform !== 'linux') return { missing: `${process.platform} has no parent-death signal` };
  const setpriv = findOnPath('setpriv');
  if (setpriv === null) return { missing: 'setpriv (util-linux) is not installed' };
  // BusyBox has a setpriv too, without this option; only trying tells.
  const tried = spawnSync(setpriv, ['--pdeathsig', 'KILL', '--', 'true'], { timeout: PROBE_LIMIT_MILLIS });
  return tried.status === 0 ? { setpriv } : { missing: `${setpriv} does not know --pdeathsig` };
}

function findOnPath(name: string): string | null {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    if (directory === '') continue;
    const path = join(directory, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not here.
    }
  }
  return null;
}
