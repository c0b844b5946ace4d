import { open, stat } from 'node:fs/promises';
import { ChildFailure } from '../failure.js';

const GGUF_MAGIC = 'GGUF';

/** Throws ChildFailure (`unreadable-model`) for what is plainly no model, before any library is loaded for it. */
export async function checkModelFile(path: string): Promise<void> {
  const refuse = (why: string): ChildFailure => new ChildFailure('unreadable-model', `${path} ${why}`);
  try {
    if (!(await stat(path)).isFile()) throw refuse('is not a file; give the path of a GGUF file.');
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(GGUF_MAGIC.length), 0, GGUF_MAGIC.length, 0);
    if (bytesRead === 0) throw refuse('is empty; download it again.');
    if (buffer.toString('latin1', 0, bytesRead) !== GGUF_MAGIC) throw refuse('is not a GGUF file.');
  } catch (error) {
    if (error instanceof ChildFailure || !(error instanceof Error)) throw error;
    const missing = 'code' in error && error.code === 'ENOENT';
    throw refuse(missing ? 'does not exist; check the path.' : `cannot be read: ${error.message}`);
  }
}
