/** Those who want to hear of something, in the order in which they came. */
export class Listeners<T> {
  readonly #listeners = new Set<(told: T) => void>();

  /** Returns the function that ends it. */
  add(listener: (told: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Whoever comes or goes meanwhile makes no difference to who is told. */
  tell(told: T): void {
    for (const listener of [...this.#listeners]) listener(told);
  }
}
