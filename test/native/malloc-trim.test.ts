import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { returnFreedMemory } from '../../native/malloc-trim.js';
import { MIB } from '../../src/scheduler/units.js';

const isGlibc = (process.report.getReport() as { header: { glibcVersionRuntime?: string } }).header.glibcVersionRuntime;

function residentBytes(): number {
  return Number(/VmRSS:\s+(\d+) kB/u.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
}

describe('memory that was freed', () => {
  it.runIf(isGlibc)('goes back to the system though something lies behind it', () => {
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    const libc = koffi.load(null);
    const malloc = libc.func('void *malloc(size_t size)') as (size: number) => unknown;
    const memset = libc.func('void *memset(void *at, int value, size_t size)') as (...args: unknown[]) => unknown;
    const free = libc.func('void free(void *at)') as (at: unknown) => void;
    // Below 128 KiB each, so that they lie in the heap; every one is touched.
    const size = 64 * 1024;
    const blocks = Array.from({ length: 2048 }, () => memset(malloc(size), 1, size));
    const last = blocks.pop();
    for (const block of blocks) free(block);
    const before = residentBytes();

    expect(returnFreedMemory()).toBe(true);

    expect(before - residentBytes()).toBeGreaterThan(64 * MIB);
    free(last);
  });

  it.skipIf(isGlibc)('is left to the allocator where there is no such call', () => {
    expect(returnFreedMemory()).toBe(false);
  });
});
