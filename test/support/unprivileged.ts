import { chmodSync } from 'node:fs';

/** The user that owns nothing. */
const NOBODY = 65_534;

/**
 * Does something as a user whom permissions stop: as root, who may read everything, the process is somebody else for as
 * long. `root` is a temporary directory that must stay reachable meanwhile.
 */
export async function unprivileged<T>(root: string, act: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0 || process.seteuid === undefined) return act();
  chmodSync(root, 0o755);
  process.seteuid(NOBODY);
  try {
    return await act();
  } finally {
    process.seteuid(0);
  }
}
