import { openSync, closeSync, readFileSync, rmSync, writeSync } from 'node:fs';
import type { FileLock } from './flock.js';

/**
 * A lock for systems without flock: whoever creates the file holds it; its pid is in it, and a file whose
 * process has gone is taken over. Weaker than flock: a pid that was given out again looks like a holder.
 * Null when somebody else holds it.
 */
export function tryExclusiveFile(path: string): FileLock | null {
  for (let attempt = 0; attempt < 2; attempt++) {
    if (create(path)) return lock(path);
    const holder = readHolder(path);
    if (holder !== null && isAlive(holder)) return null;
    rmSync(path, { force: true });
  }
  return null;
}

function create(path: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  writeSync(descriptor, `${process.pid}\n`);
  closeSync(descriptor);
  return true;
}

function lock(path: string): FileLock {
  let held = true;
  const release = (): void => {
    if (held) rmSync(path, { force: true });
    held = false;
  };
  return { release, [Symbol.dispose]: release };
}

function readHolder(path: string): number | null {
  try {
    const pid = Number.parseInt(readFileSync(path, 'utf8'), 10);
    return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
