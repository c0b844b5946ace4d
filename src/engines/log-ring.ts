import type { Bytes } from '../scheduler/units.js';

/** What one character of a string takes at most. */
const BYTES_PER_CHARACTER = 2;

/** The last lines of a child, bounded in number and in memory. */
export class LogRing {
  readonly #maxLines: number;
  readonly #maxBytes: Bytes;
  #lines: string[] = [];
  #bytes = 0;

  constructor(maxLines: number, maxBytes: Bytes) {
    this.#maxLines = maxLines;
    this.#maxBytes = maxBytes;
  }

  /** Keeps a line, and lets the oldest go. A line is kept up to an eighth of the whole, so that one cannot drive all others out. */
  push(line: string): void {
    const limit = Math.floor(this.#maxBytes / BYTES_PER_CHARACTER / 8);
    const kept = line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
    this.#lines.push(kept);
    this.#bytes += kept.length * BYTES_PER_CHARACTER;
    while (this.#lines.length > this.#maxLines || this.#bytes > this.#maxBytes) {
      const oldest = this.#lines.shift();
      if (oldest === undefined) return;
      this.#bytes -= oldest.length * BYTES_PER_CHARACTER;
    }
  }

  /** Oldest first. */
  lines(): readonly string[] {
    return [...this.#lines];
  }
}
