import { readFileSync } from 'node:fs';

/** The version of node-llama-cpp that is installed; empty when there is none. Does not load it. */
export function libraryVersion(): string {
  try {
    const packageFile = new URL('../package.json', import.meta.resolve('node-llama-cpp'));
    const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version?: unknown };
    return typeof version === 'string' ? version : '';
  } catch {
    return '';
  }
}
