import { downloadModel, planDownload, type DownloadPlan } from '../catalog/hf-cache/download-model.js';
import { DownloadError, type HubAccess } from '../catalog/hf-cache/hub.js';
import { removeCachedModel } from '../catalog/hf-cache/remove-model.js';
import type { Bytes, Millis } from '../scheduler/units.js';
import type { ModelEvent } from './model-events.js';

/** Bytes that have come, and all there are, by the address of each file; as llama-server's router tells it. */
export type DownloadProgress = Readonly<Record<string, { readonly done: Bytes; readonly total: Bytes }>>;

export interface DownloadView {
  /** `repo:TAG`. */
  readonly id: string;
  readonly progress: DownloadProgress;
}

export interface DownloadsOptions {
  /** Where models are kept; null: the engine loads no files. */
  readonly cache: string | null;
  readonly access: HubAccess;
  readonly tell: (event: ModelEvent) => void;
  readonly notice: (message: string) => void;
  /** Reads the models again: one has come or gone. */
  readonly reload: () => Promise<unknown>;
  readonly firstDelayMillis?: Millis;
}

interface Running {
  readonly plan: DownloadPlan;
  readonly progress: Record<string, { done: Bytes; total: Bytes }>;
  readonly cancelling: AbortController;
  readonly done: Promise<void>;
}

/** Progress is told this often at most. */
const TELL_EVERY_MILLIS: Millis = 200;

/** Downloads of models into the cache of Hugging Face, side by side, and their removal. */
export class Downloads {
  readonly #options: DownloadsOptions;
  readonly #running = new Map<string, Running>();
  /** Those that are being looked up: nobody is to begin twice. */
  readonly #starting = new Map<string, AbortController>();

  constructor(options: DownloadsOptions) {
    this.#options = options;
  }

  list(): readonly DownloadView[] {
    return [...this.#running.values()].map(({ plan, progress }) => ({ id: plan.id, progress }));
  }

  /**
   * Begins a download once the hub has said that there is such a model; what comes of it is told as events. Returns
   * the id that the model will have. Throws DownloadError.
   * @param isKnown whether the catalog has a model of this name already
   */
  async start(name: string, isKnown: (id: string) => boolean): Promise<string> {
    const { cache, access } = this.#options;
    if (cache === null)
      throw new DownloadError('the engine of this supervisor loads no files; use another --engine', 400);
    const refuseKnown = (id: string): void => {
      if (isKnown(id)) throw new DownloadError(`model '${id}' exists already`, 400);
      if (this.#running.has(id)) throw new DownloadError(`model '${id}' is being downloaded already`, 400);
    };
    refuseKnown(name);
    if (this.#starting.has(name)) throw new DownloadError(`model '${name}' is being looked up already`, 400);
    const cancelling = new AbortController();
    this.#starting.set(name, cancelling);
    try {
      const plan = await planDownload(name, access, cancelling.signal);
      refuseKnown(plan.id);
      this.#begin(plan, cache, cancelling);
      return plan.id;
    } finally {
      this.#starting.delete(name);
    }
  }

  /** Ends a download; what has come so far is kept for the next one. False when there is none of this name. */
  cancel(id: string): boolean {
    const running = this.#running.get(id);
    running?.cancelling.abort(new DownloadError('it was cancelled', 499));
    return running !== undefined;
  }

  /** Deletes a model from the cache; one that is being downloaded is given up first. Throws DownloadError. */
  async remove(id: string): Promise<void> {
    const { cache, tell, reload } = this.#options;
    const running = this.#running.get(id);
    this.cancel(id);
    await running?.done;
    try {
      const removed = cache !== null && (await removeCachedModel(cache, id));
      if (!removed && running === undefined) throw new DownloadError(`model '${id}' is not in the cache`, 404);
    } catch (error) {
      if (error instanceof DownloadError) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw new DownloadError(`model '${id}' cannot be removed: ${why}`, 500, { cause: error });
    }
    tell({ model: id, event: 'model_remove', data: {} });
    await reload();
  }

  /** Ends every download. */
  async close(): Promise<void> {
    for (const cancelling of this.#starting.values()) cancelling.abort();
    for (const id of this.#running.keys()) this.cancel(id);
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  #begin(plan: DownloadPlan, cache: string, cancelling: AbortController): void {
    const progress: Running['progress'] = Object.fromEntries(
      plan.files.map(({ url, sizeBytes }) => [url, { done: 0, total: sizeBytes }]),
    );
    const { id } = plan;
    const { access, tell, firstDelayMillis } = this.#options;
    let toldAt = -Infinity;
    const work = downloadModel(plan, {
      cache,
      access,
      signal: cancelling.signal,
      ...(firstDelayMillis === undefined ? {} : { firstDelayMillis }),
      onProgress: ({ url, sizeBytes }, done) => {
        progress[url] = { done, total: sizeBytes };
        if (done < sizeBytes && performance.now() - toldAt < TELL_EVERY_MILLIS) return;
        toldAt = performance.now();
        tell({ model: id, event: 'download_progress', data: { progress: { ...progress } } });
      },
    });
    const done = work.then(
      () => this.#ended(id, null),
      (error: unknown) => this.#ended(id, error),
    );
    this.#running.set(id, { plan, progress, cancelling, done });
    tell({ model: id, event: 'download_progress', data: { progress: { ...progress } } });
  }

  async #ended(id: string, error: unknown): Promise<void> {
    const { tell, notice, reload } = this.#options;
    this.#running.delete(id);
    if (error !== null) {
      const message = error instanceof Error ? error.message : 'it was given up';
      notice(`${id} was not downloaded: ${message}`);
      tell({ model: id, event: 'download_failed', data: { message } });
      return;
    }
    await reload().catch((reason: unknown) => notice(String(reason)));
    tell({ model: id, event: 'download_finished', data: {} });
  }
}
