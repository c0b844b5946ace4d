import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { readMemoryTable } from '../engines/memory-table.js';
import type { ChildMemory } from '../engines/messages.js';
import type { Bytes, DeviceBytes, Millis } from '../scheduler/units.js';
import type { MeasurementKey } from './key.js';

/** What a model needs, as measured (see the child protocol), at its smallest and its largest context. */
export interface MemoryTables {
  readonly min: ChildMemory;
  readonly max: ChildMemory;
}

/** What is known of one model with certain files, arguments, engine and devices. */
export interface Remembered {
  readonly tables: MemoryTables | null;
  /** Highest bytes seen at work. */
  readonly observed: DeviceBytes | null;
  /** Bytes last seen at rest; absent: none. */
  readonly rested?: DeviceBytes;
  /** How long its latest load took. */
  readonly loadMillis: Millis | null;
}

export interface MeasurementStoreOptions {
  readonly path: string;
  /** Replaces the file in one step. */
  readonly write: (path: string, text: string) => Promise<void>;
  readonly now: () => Millis;
  /** Told once when the file cannot be written. */
  readonly onError?: (message: string) => void;
}

interface Entry extends Remembered {
  /** For people who look into the file. */
  readonly model: string;
  readonly usedAt: Millis;
}

const VERSION = 1;
/** Models that a machine has seen; the one that was not asked for longest goes first. */
const ENTRIES_KEPT = 1000;
/** Devices that processes were looked at on, once for each build of the engine. */
const LOOKS_KEPT = 64;
/** Changes within this time are written together. */
const WRITE_DELAY_MILLIS: Millis = 1000;
const NOTHING: Remembered = { tables: null, observed: null, loadMillis: null };

const count = z.number().int().nonnegative();
const table = z.unknown().transform((value, context): ChildMemory => {
  const read = readMemoryTable(value);
  if (read !== null) return read;
  context.addIssue('is no memory table');
  return z.NEVER;
});
const file = z.object({
  version: z.literal(VERSION),
  entries: z.record(
    z.string(),
    z.object({
      model: z.string(),
      usedAt: z.number(),
      tables: z.object({ min: table, max: table }).nullable(),
      observed: z.record(z.string(), count).nullable(),
      rested: z.record(z.string(), count).exactOptional(),
      loadMillis: z.number().nonnegative().nullable(),
    }),
  ),
  looks: z.record(z.string(), z.array(count)).default({}),
});

/** What models need and were seen to use, kept over restarts in one file of the state directory. */
export class MeasurementStore {
  readonly #options: MeasurementStoreOptions;
  #entries = new Map<MeasurementKey, Entry>();
  #looks = new Map<string, readonly Bytes[]>();
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  #failed = false;

  constructor(options: MeasurementStoreOptions) {
    this.#options = options;
  }

  /** A file that cannot be read, or is another version's, is no reason not to start: the notice says so. */
  async load(): Promise<{ readonly notice: string | null }> {
    const { path } = this.#options;
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      return { notice: missing ? null : `${path} cannot be read (${sayError(error)}); models are measured again` };
    }
    try {
      const { entries, looks } = file.parse(JSON.parse(text));
      this.#entries = new Map(Object.entries(entries));
      this.#looks = new Map(Object.entries(looks));
      return { notice: null };
    } catch {
      return { notice: `${path} is not a file of measurements that this version can read; models are measured again` };
    }
  }

  /** What is known under a key; asking keeps it from being forgotten. */
  get(key: MeasurementKey): Remembered {
    const entry = this.#entries.get(key);
    if (entry === undefined) return NOTHING;
    this.#entries.set(key, { ...entry, usedAt: this.#options.now() });
    return entry;
  }

  /** Replaces what is given of what is known. On disk soon after. */
  put(key: MeasurementKey, model: string, change: Partial<Remembered>): void {
    const before = this.#entries.get(key) ?? NOTHING;
    this.#entries.set(key, { ...before, ...change, model, usedAt: this.#options.now() });
    this.#forgetOldest();
    this.#writeSoon();
  }

  /** What processes were seen to take on a device besides their tables, latest last; see Contexts. */
  looks(device: string): readonly Bytes[] {
    return this.#looks.get(device) ?? [];
  }

  putLooks(device: string, looks: readonly Bytes[]): void {
    this.#looks.delete(device);
    this.#looks.set(device, looks);
    const [oldest] = this.#looks.keys();
    if (this.#looks.size > LOOKS_KEPT && oldest !== undefined) this.#looks.delete(oldest);
    this.#writeSoon();
  }

  /** Resolves once everything that was put is on disk, or could not be written. */
  flush(): Promise<void> {
    if (this.#timer === null) return this.#writing;
    clearTimeout(this.#timer);
    this.#timer = null;
    const [entries, looks] = [Object.fromEntries(this.#entries), Object.fromEntries(this.#looks)];
    const text = `${JSON.stringify({ version: VERSION, entries, looks })}\n`;
    const { path, write, onError } = this.#options;
    this.#writing = this.#writing
      .then(() => write(path, text))
      .catch((error: unknown) => {
        if (!this.#failed)
          onError?.(`Measurements cannot be kept (${sayError(error)}); the next start measures again.`);
        this.#failed = true;
      });
    return this.#writing;
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => void this.flush(), WRITE_DELAY_MILLIS).unref();
  }

  #forgetOldest(): void {
    if (this.#entries.size <= ENTRIES_KEPT) return;
    const [oldest] = [...this.#entries].reduce((a, b) => (b[1].usedAt < a[1].usedAt ? b : a));
    this.#entries.delete(oldest);
  }
}

function sayError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
