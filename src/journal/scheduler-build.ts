import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shortHash } from './format.js';

/**
 * A hash of the scheduler's code as it runs here. Two builds with the same hash decide alike; `unknown` where the code
 * cannot be read (a bundle, for instance).
 */
export function schedulerBuild(): string {
  try {
    const directory = join(import.meta.dirname, '..', 'scheduler');
    const files = readdirSync(directory)
      .filter((name) => /\.[jt]s$/u.test(name))
      .sort();
    return shortHash(files.map((name) => readFileSync(join(directory, name), 'utf8')).join('\n'));
  } catch {
    return 'unknown';
  }
}
