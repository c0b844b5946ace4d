import { rename, rm, writeFile } from 'node:fs/promises';

/** Replaces a file in one step: whoever reads it sees the old content or the new, never a part. Mode 0600. */
export async function writeAtomically(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, content, { mode: 0o600 });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
