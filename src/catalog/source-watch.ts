import { watch, type FSWatcher } from 'node:fs';
import { describeSystemError } from './catalog-source-error.js';
import { PathWatch } from './path-watch.js';
import { quote } from './quote.js';

/** Tells when the files that models come from change; what has changed is for the next read to find out. */
export class SourceWatch {
  readonly #sources: { readonly modelsDir: string | null; readonly modelsPreset: string | null };
  readonly #onChange: () => void;
  readonly #paths: PathWatch[] = [];
  #inside: FSWatcher | null = null;

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
    const attempt = (path: string, begin: () => void): void => {
      try {
        begin();
      } catch (error) {
        const why = describeSystemError(error);
        notices.push(`${quote(path)} cannot be watched (${why}); read it again with SIGHUP or GET /models?reload=1`);
      }
    };
    if (modelsPreset !== null) {
      attempt(modelsPreset, () => this.#paths.push(new PathWatch(modelsPreset, this.#onChange).start()));
    }
    if (modelsDir !== null) {
      attempt(modelsDir, () => {
        this.#watchInside(modelsDir);
        this.#paths.push(new PathWatch(modelsDir, () => this.#replaced(modelsDir)).start());
      });
    }
    return notices;
  }

  close(): void {
    for (const path of this.#paths.splice(0)) path.close();
    this.#inside?.close();
    this.#inside = null;
  }

  #watchInside(directory: string): void {
    const watcher = watch(directory, { recursive: true }, () => this.#onChange());
    this.#inside?.close();
    this.#inside = watcher.on('error', () => undefined);
  }

  /** Another directory may be there by now. */
  #replaced(directory: string): void {
    try {
      this.#watchInside(directory);
    } catch {
      // There is none now; when one comes, its path tells.
    }
    this.#onChange();
  }
}
