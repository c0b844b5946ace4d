import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { temporaryDirectory } from './serving.js';
import { tinyGguf } from './tiny-gguf.js';

const ODD_CHILD = resolve(import.meta.dirname, 'odd-child.js');

/** See odd-child.js. */
export type Oddity = 'steals' | 'stalls' | 'hangs' | 'thinks' | 'lingers' | 'stubborn' | 'pours' | 'even';

/** Where the thief of a port leaves its pid. */
export function thiefFile(directory: string): string {
  return join(directory, 'steals.gguf.thief');
}

/** A directory of models whose children misbehave in the way that each model's name says. */
export function oddModels(...names: readonly Oddity[]): string {
  const directory = temporaryDirectory();
  for (const name of names) writeFileSync(join(directory, `${name}.gguf`), tinyGguf());
  return directory;
}

/** Arguments that serve such a directory. */
export function servingOdd(directory: string): readonly string[] {
  return ['--llama-server', ODD_CHILD, '--models-dir', directory];
}
