import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { ModelId } from '../scheduler/units.js';
import { writeAtomically } from './write-atomically.js';

const pinsFile = z.object({ version: z.literal(1), pins: z.array(z.string()) });

/** Pins that the operator set, kept in the state directory. */
export class PinStore {
  readonly #path: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(stateDirectory: string) {
    this.#path = join(stateDirectory, 'pins.json');
  }

  /** An unreadable file is no reason not to start: nothing is pinned then, and the notice says why. */
  async load(): Promise<{ readonly pins: readonly ModelId[]; readonly notice: string | null }> {
    let text: string;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch (error) {
      const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      const why = error instanceof Error ? error.message : String(error);
      return { pins: [], notice: missing ? null : `${this.#path} cannot be read (${why}); nothing is pinned by it` };
    }
    try {
      return { pins: pinsFile.parse(JSON.parse(text)).pins, notice: null };
    } catch {
      return { pins: [], notice: `${this.#path} is not a pins file that can be read; nothing is pinned by it` };
    }
  }

  /** Writes one after another, so that the latest wins. Rejects when the directory cannot be written. */
  save(pins: readonly ModelId[]): Promise<void> {
    const text = `${JSON.stringify({ version: 1, pins })}\n`;
    this.#writing = this.#writing.catch(() => undefined).then(() => writeAtomically(this.#path, text));
    return this.#writing;
  }
}
