import { watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describeSystemError } from './catalog-source-error.js';
import { quote } from './quote.js';

/** Tells when the files that models come from change; what has changed is for the next read to find out. */
export class SourceWatch {
  readonly #sources: { readonly modelsDir: string | null; readonly modelsPreset: string | null };
  readonly #onChange: () => void;
  readonly #watchers: FSWatcher[] = [];

  constructor(
    sources: { readonly modelsDir: string | null; readonly modelsPreset: string | null },
    onChange: () => void,
  ) {
    this.#sources = sources;
    this.#onChange = onChange;
  }

  /** Begins; gives one sentence for each source that cannot be watched. */
  start(): readonly string[] {
    const { modelsDir, modelsPreset } = this.#sources;
    const notices: string[] = [];
    const attempt = (path: string, begin: () => FSWatcher): void => {
      const fail = (error: unknown): string =>
        `${quote(path)} cannot be watched (${describeSystemError(error)}); read it again with SIGHUP or GET /models?reload=1`;
      try {
        this.#watchers.push(begin().on('error', () => undefined));
      } catch (error) {
        notices.push(fail(error));
      }
    };
    if (modelsPreset !== null) {
      // Editors replace a file rather than write into it: only its directory knows of the new one.
      const name = basename(modelsPreset);
      attempt(modelsPreset, () =>
        watch(dirname(modelsPreset), (_event, changed) => {
          if (changed === null || changed === name) this.#onChange();
        }),
      );
    }
    if (modelsDir !== null) attempt(modelsDir, () => watch(modelsDir, { recursive: true }, () => this.#onChange()));
    return notices;
  }

  close(): void {
    for (const watcher of this.#watchers.splice(0)) watcher.close();
  }
}
