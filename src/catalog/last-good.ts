import { CatalogSourceError } from './catalog-source-error.js';

/** One source of models, with what it held when it could last be read. */
export class LastGood<Contents> {
  #value: Contents | null = null;

  get value(): Contents | null {
    return this.#value;
  }

  /** What the source holds now; when it cannot be read, what it held before. Null without a path, or before any success. */
  async read(
    path: string | null,
    read: (path: string) => Promise<Contents>,
    onError: (error: CatalogSourceError) => void,
  ): Promise<Contents | null> {
    if (path === null) return null;
    try {
      return await read(path);
    } catch (error) {
      if (!(error instanceof CatalogSourceError)) throw error;
      onError(error);
      return this.#value;
    }
  }

  /** What counts as good from now on. */
  settle(value: Contents | null): void {
    this.#value = value;
  }
}
