import { createRequire } from 'node:module';

type Trim = (pad: number) => number;

let trim: Trim | null | undefined;

/**
 * Returns what the C library keeps of freed memory to the system, at most a few milliseconds of work. glibc gives each
 * thread an arena of its own and shrinks it only from its end, so that a server's resident memory creeps up by what
 * short-lived work of many threads leaves behind (malloc_trim(3)). False where there is no such call, as on macOS and
 * musl, whose allocators return memory by themselves.
 */
export function returnFreedMemory(): boolean {
  if (trim === undefined) trim = findTrim();
  return trim !== null && trim(0) === 1;
}

function findTrim(): Trim | null {
  if (process.platform !== 'linux') return null;
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    return koffi.load(null).func('int malloc_trim(size_t pad)') as Trim;
  } catch {
    return null;
  }
}
