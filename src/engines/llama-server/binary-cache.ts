import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { OptionTable } from '../../catalog/option-table.js';
import type { DeviceName } from '../../scheduler/units.js';

const VERSION = 2;
/** Builds that somebody tries out in turn; the one that was not started longest goes first. */
const PROGRAMS_KEPT = 16;

const option = z.object({
  name: z.string(),
  aliases: z.array(z.string()),
  takesValue: z.boolean(),
  negatable: z.boolean(),
  env: z.string().nullable(),
  negatedAliases: z.array(z.string()).exactOptional(),
  allowed: z.object({ numbers: z.boolean(), words: z.array(z.string()) }).exactOptional(),
});

/** What a program says of itself. */
export interface ProgramFacts {
  /** Null: it did not say what it understands. */
  readonly options: OptionTable | null;
  /** The verbosity at which it logs its buffers, where that is not the default one. */
  readonly bufferVerbosity: number | null;
  readonly measureRole: boolean;
  readonly announcesReady: boolean;
  /** Devices that it can use, on one machine as it was, and why none, where a driver failed it; null: not known. */
  readonly devices: {
    readonly machine: string;
    readonly names: readonly DeviceName[];
    readonly failure?: string;
  } | null;
}

const program: z.ZodType<ProgramFacts> = z.object({
  options: z.array(option).nullable(),
  bufferVerbosity: z.number().int().nullable(),
  measureRole: z.boolean(),
  announcesReady: z.boolean(),
  devices: z
    .object({ machine: z.string(), names: z.array(z.string()), failure: z.string().exactOptional() })
    .nullable(),
});

const file = z.object({ version: z.literal(VERSION), programs: z.record(z.string(), program) });

/**
 * What programs have said of themselves, kept over restarts in one file, so that a start does not have to run them. A
 * program is known by what tells its builds apart (see `buildOf`). A file that cannot be read is none.
 */
export class BinaryCache {
  readonly #path: string | null;
  readonly #programs: Map<string, ProgramFacts>;
  #changed = false;

  private constructor(path: string | null, programs: Map<string, ProgramFacts>) {
    this.#path = path;
    this.#programs = programs;
  }

  /** Reads the file; null: nothing is known, and nothing kept. Never rejects. */
  static async open(path: string | null): Promise<BinaryCache> {
    if (path === null) return new BinaryCache(null, new Map());
    try {
      const { programs } = file.parse(JSON.parse(await readFile(path, 'utf8')));
      return new BinaryCache(path, new Map(Object.entries(programs)));
    } catch {
      return new BinaryCache(path, new Map());
    }
  }

  get(build: string): ProgramFacts | null {
    return this.#programs.get(build) ?? null;
  }

  put(build: string, facts: ProgramFacts): void {
    this.#programs.delete(build);
    this.#programs.set(build, facts);
    const [oldest] = this.#programs.keys();
    if (this.#programs.size > PROGRAMS_KEPT && oldest !== undefined) this.#programs.delete(oldest);
    this.#changed = true;
  }

  /** Writes the file when there is something new in it; a cache that cannot be written is done without. */
  async save(write: (path: string, text: string) => Promise<void>): Promise<void> {
    if (!this.#changed || this.#path === null) return;
    this.#changed = false;
    const programs = Object.fromEntries(this.#programs);
    await write(this.#path, `${JSON.stringify({ version: VERSION, programs })}\n`).catch(() => undefined);
  }
}
