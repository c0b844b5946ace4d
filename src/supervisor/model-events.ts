/** Something that happens to models and is no state of one, in the words of llama-server's `/models/sse`. */
export interface ModelEvent {
  /** `*` stands for all. */
  readonly model: string;
  readonly event: 'models_reload' | 'download_progress' | 'download_finished' | 'download_failed' | 'model_remove';
  readonly data?: object;
}
