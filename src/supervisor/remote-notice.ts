import type { CatalogEntry } from '../catalog/entry.js';

/** Says once that nobody sees how full remote devices are; null when no model uses any. */
export function remoteNotice(entries: readonly Pick<CatalogEntry, 'options'>[]): string | null {
  const servers = entries.flatMap(({ options }) =>
    options.flatMap(({ name, value }) => (name === 'rpc' && typeof value === 'string' ? value.split(',') : [])),
  );
  const names = [...new Set(servers.map((server) => server.trim()).filter((server) => server !== ''))];
  if (names.length === 0) return null;
  return `No probe sees the remote devices at ${names.join(', ')}: they limit no load until a child has reported them.`;
}
