import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Bytes } from '../scheduler/units.js';

/** Numbers only grow, so that names sort by age whatever the clock did. */
const NAME = /^journal-(\d{6,})\.jsonl$/u;

/** A supervisor that is restarted over and over leaves small files; more than this many are of no use. */
const MOST_FILES = 64;

/** The journal files in a directory, oldest first; none when there is no such directory. */
export function journalFiles(directory: string): readonly string[] {
  return numbersIn(directory).map((number) => pathOf(directory, number));
}

/** Where the next file of this directory goes. */
export function nextJournalFile(directory: string): string {
  return pathOf(directory, (numbersIn(directory).at(-1) ?? 0) + 1);
}

/** Removes the oldest files besides the newest, until the others fit into the given size. */
export function pruneJournals(directory: string, keptBytes: Bytes): void {
  const older = journalFiles(directory).slice(0, -1).reverse();
  let total = 0;
  older.forEach((path, index) => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isFile() !== true) return;
    total += found.size;
    if (total > keptBytes || index + 1 >= MOST_FILES) rmSync(path, { force: true });
  });
}

function numbersIn(directory: string): readonly number[] {
  return namesIn(directory)
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function pathOf(directory: string, number: number): string {
  return join(directory, `journal-${String(number).padStart(6, '0')}.jsonl`);
}
