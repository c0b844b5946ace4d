import type { LoadedCatalog } from '../catalog/catalog.js';

/** Everything that the user should know about the sources, one line each. */
export function linesOf({ notices, errors }: LoadedCatalog): readonly string[] {
  const located = notices.map(({ path, line, message }) => `${path}${line === null ? '' : `:${line}`}: ${message}`);
  return [...located, ...errors.map(({ message }) => message)];
}

/** Those that were not said of the catalog before. */
export function newLines(before: readonly string[], now: readonly string[]): readonly string[] {
  const said = new Set(before);
  return now.filter((line) => !said.has(line));
}
