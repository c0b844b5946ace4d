import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tryExclusiveFile } from './exclusive-file.js';

/** A lock that this process holds until it releases it or ends, however it ends. */
export interface FileLock extends Disposable {
  /** Gives the lock up; the file stays. A second call does nothing. */
  release(): void;
}

interface Flock {
  /** 0, or the error number. */
  readonly call: (descriptor: number, operation: number) => number;
  /** The number that means "somebody else has it". */
  readonly taken: number;
}

// <sys/file.h>; the same on Linux, macOS and the BSDs.
const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;

let flock: Flock | null | undefined;

/**
 * Takes the exclusive lock of a file, creating it (0600) where it is missing, without waiting: null means that
 * somebody else holds it, be it another process or this one. The pid is written into the file for people.
 * The kernel gives a lock back when its process ends, SIGKILL included; children do not inherit it.
 * Without flock (Windows) a file created exclusively, with the holder's pid in it, stands in.
 * Throws what `open` throws when the file cannot be opened.
 */
export function tryLock(path: string): FileLock | null {
  flock ??= loadFlock();
  return flock === null ? tryExclusiveFile(`${path}.pid`) : lockWith(flock, path);
}

/** The pid of whoever holds that lock now; null: nobody does, or it cannot be told. Creates nothing. */
export function lockHolder(path: string): number | null {
  flock ??= loadFlock();
  if (flock === null) return null;
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch {
    return null;
  }
  try {
    // What another asker holds meanwhile is shared too: only the lock itself is in the way.
    if (flock.call(descriptor, LOCK_SH) !== flock.taken) return null;
    const pid = Number.parseInt(readFileSync(descriptor, 'utf8'), 10);
    return pid > 0 ? pid : null;
  } finally {
    closeSync(descriptor);
  }
}

function lockWith({ call, taken }: Flock, path: string): FileLock | null {
  const descriptor = openSync(path, 'a', 0o600);
  const error = call(descriptor, LOCK_EX);
  if (error !== 0) {
    closeSync(descriptor);
    if (error === taken) return null;
    throw new Error(`Could not lock ${path}: error ${error}. Is it on a file system without locks?`);
  }
  ftruncateSync(descriptor);
  writeSync(descriptor, `${process.pid}\n`);
  let held = true;
  const release = (): void => {
    if (held) closeSync(descriptor);
    held = false;
  };
  return { release, [Symbol.dispose]: release };
}

function loadFlock(): Flock | null {
  if (process.platform === 'win32') return null;
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    // The program itself: Node is linked against libc, whatever that is called here.
    const call = koffi.load(null).func('int flock(int descriptor, int operation)') as (...numbers: number[]) => number;
    const taken = koffi.os.errno['EWOULDBLOCK'] ?? koffi.os.errno['EAGAIN'];
    if (taken === undefined) return null;
    return {
      taken,
      call: (descriptor, operation) => (call(descriptor, operation | LOCK_NB) === 0 ? 0 : koffi.errno()),
    };
  } catch {
    return null;
  }
}
