import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeGgufHeader, ggufFileBytes, writeGguf, type GgufContent } from './gguf-writer.js';
import { describeModel, type ModelShape } from './model-shape.js';

const SHAPES: readonly ModelShape[] = [
  { name: 'sample-small', sizeBytes: 12e6, embedding: 256, layers: 4, heads: 4, keyValueHeads: 2, seed: 1 },
  { name: 'sample-medium', sizeBytes: 45e6, embedding: 512, layers: 8, heads: 8, keyValueHeads: 4, seed: 2 },
  { name: 'sample-large', sizeBytes: 110e6, embedding: 768, layers: 12, heads: 12, keyValueHeads: 4, seed: 3 },
];

/**
 * Writes three small models of about 12, 45 and 110 MB into `directory`, which is made if need be, and returns
 * their paths, smallest first. Their weights are random: they load, stream and take memory like any other model,
 * and talk readable nonsense. Complete files of this version are kept as they are; a file appears under its name
 * only once it is whole. Rejects with the file system's error.
 */
export async function writeSampleModels(directory: string): Promise<readonly string[]> {
  await mkdir(directory, { recursive: true });
  const paths: string[] = [];
  for (const shape of SHAPES) {
    const path = join(directory, `${shape.name}.gguf`);
    const content = describeModel(shape);
    if (!(await isComplete(path, content))) await writeWhole(path, content);
    paths.push(path);
  }
  return paths;
}

async function writeWhole(path: string, content: GgufContent): Promise<void> {
  const temporary = `${path}.${randomUUID()}.part`;
  try {
    await writeGguf(temporary, content);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function isComplete(path: string, content: GgufContent): Promise<boolean> {
  try {
    await using file = await open(path);
    if ((await file.stat()).size !== ggufFileBytes(content)) return false;
    const header = encodeGgufHeader(content);
    const found = Buffer.alloc(header.length);
    await file.read(found, 0, header.length, 0);
    return found.equals(header);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}
