import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import type { Rig } from './rig.js';

/** Names and sizes (MiB of weights) of the models that every part serves: any of them fits on a GPU, no two do. */
export const MODELS: Readonly<Record<string, number>> = { ant: 150, bee: 170, cat: 190, dog: 210 };

/**
 * Weights are in the models' files; a child needs as much again of cache and compute buffers, and a CUDA context of
 * 200 MiB. With all of it the largest model holds about 455 MiB.
 */
export const GPUS_MIB: readonly number[] = [600, 600];

/** Writes models with random weights; their directory. */
export async function writeModels(rig: Rig, directory: string): Promise<string> {
  const models = join(directory, 'models');
  mkdirSync(models, { recursive: true });
  for (const [index, [name, mib]] of Object.entries(MODELS).entries()) {
    const seed = String(index + 1);
    await execa(process.execPath, [rig.modelWriter, join(models, `${name}.gguf`), String(mib), '--seed', seed]);
  }
  return models;
}
