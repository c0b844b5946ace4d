import type { ModelId } from '../scheduler/units.js';
import type { PinStore } from './pins.js';

/** Writes the operator's pins whenever they change, and remembers whether that went well. */
export class PinSaving {
  readonly #store: Pick<PinStore, 'save'>;
  readonly #notice: (notice: string) => void;
  #saved: Promise<string | null> = Promise.resolve(null);

  constructor(store: Pick<PinStore, 'save'>, notice: (notice: string) => void) {
    this.#store = store;
    this.#notice = notice;
  }

  save(pins: readonly ModelId[]): void {
    this.#saved = this.#store.save(pins).then(
      () => null,
      (error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        const message = `The pins could not be saved (${why}); they hold until this supervisor ends.`;
        this.#notice(message);
        return message;
      },
    );
  }

  /** Why they could not be saved when that was tried last; null: they are. */
  saved(): Promise<string | null> {
    return this.#saved;
  }
}
