/** Something that happens to models and is no state of one, in the words of llama-server's `/models/sse`. */
export interface ModelEvent {
  /** `*` stands for all. */
  readonly model: string;
  readonly event: 'models_reload' | 'download_progress' | 'download_finished' | 'download_failed' | 'model_remove';
  readonly data?: object;
}

/** Those who want to hear of such events. */
export class ModelEvents {
  readonly #listeners = new Set<(event: ModelEvent) => void>();

  tell(event: ModelEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }

  /** Returns the function that ends it. */
  listen(listener: (event: ModelEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
