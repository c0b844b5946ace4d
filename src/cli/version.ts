import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** This program's version, as its package says. */
export const VERSION: string = readVersion();

function readVersion(): string {
  // The package file is above this one, however deep the compiled tree is.
  for (let at = dirname(fileURLToPath(import.meta.url)); at !== dirname(at); at = dirname(at)) {
    const file = join(at, 'package.json');
    if (existsSync(file)) return (createRequire(import.meta.url)(file) as { version: string }).version;
  }
  return 'unknown';
}
