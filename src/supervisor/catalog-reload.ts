import type { LoadedCatalog } from '../catalog/catalog.js';
import type { ReloadReport } from '../client/types.js';
import type { Millis } from '../scheduler/units.js';

export interface CatalogReloadOptions {
  readonly read: () => Promise<LoadedCatalog>;
  /** Takes in what was read. */
  readonly take: (catalog: LoadedCatalog) => ReloadReport;
  readonly onFailure: (message: string) => void;
}

/** Whoever saves a file writes more than once; what it means to say is in the last of them. */
const SETTLE_MILLIS: Millis = 300;
/** Changes that never end, like a long copy into the directory, are looked at now and then. */
const LONGEST_WAIT_MILLIS: Millis = 10_000;

/** Reads the sources of models again, when asked or when a file changes: one read at a time. */
export class CatalogReload {
  readonly #options: CatalogReloadOptions;
  #running: Promise<ReloadReport> | null = null;
  /** The read that begins when the present one has ended: everybody who asks meanwhile shares it. */
  #next: Promise<ReloadReport> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #waitingSince: Millis | null = null;

  constructor(options: CatalogReloadOptions) {
    this.#options = options;
  }

  /** Reads everything that was written before this call; resolves when it has been taken in. */
  now(): Promise<ReloadReport> {
    if (this.#running === null) return this.#start();
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#next;
  }

  /** The same after a while without another change. */
  soon(): void {
    this.#waitingSince ??= performance.now();
    if (this.#timer !== null) clearTimeout(this.#timer);
    const left = Math.max(0, this.#waitingSince + LONGEST_WAIT_MILLIS - performance.now());
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#waitingSince = null;
        this.now().catch((error: unknown) => {
          this.#options.onFailure(error instanceof Error ? error.message : String(error));
        });
      },
      Math.min(SETTLE_MILLIS, left),
    );
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #start(): Promise<ReloadReport> {
    this.#next = null;
    const { read, take } = this.#options;
    const running = read()
      .then(take)
      .finally(() => {
        this.#running = null;
      });
    this.#running = running;
    return running;
  }
}
