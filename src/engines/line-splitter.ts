import type { Bytes } from '../scheduler/units.js';

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = '\r';

/**
 * Cuts a stream of bytes into lines, whatever the chunks are. A line longer than `maxBytes` is cut: its
 * beginning is delivered once, the rest is dropped, so that memory stays bounded whatever a child prints.
 * Lines are decoded as UTF-8; bytes that are not become U+FFFD. Of a line that a child redraws with carriage
 * returns, the last state counts.
 */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  readonly #maxBytes: Bytes;
  #pieces: Buffer[] = [];
  #length = 0;
  #dropping = false;

  constructor(onLine: (line: string) => void, maxBytes: Bytes) {
    this.#onLine = onLine;
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) {
        this.#append(chunk.subarray(start));
        return;
      }
      const isWhole = this.#length === 0 && !this.#dropping && end - start <= this.#maxBytes;
      if (isWhole) this.#deliver(chunk.toString('utf8', start, end));
      else {
        this.#append(chunk.subarray(start, end));
        this.#finish();
      }
      this.#dropping = false;
      start = end + 1;
    }
  }

  /** The stream has ended: what was printed without a newline is a line too. */
  end(): void {
    if (this.#length > 0) this.#finish();
  }

  #append(piece: Buffer): void {
    if (this.#dropping || piece.length === 0) return;
    const room = this.#maxBytes - this.#length;
    // A copy: a slice would keep the whole chunk of the pipe alive.
    this.#pieces.push(Buffer.from(piece.subarray(0, room)));
    this.#length += Math.min(piece.length, room);
    if (piece.length <= room) return;
    this.#finish();
    this.#dropping = true;
  }

  #finish(): void {
    if (this.#dropping) return;
    const text = Buffer.concat(this.#pieces).toString('utf8');
    this.#pieces = [];
    this.#length = 0;
    this.#deliver(text);
  }

  #deliver(text: string): void {
    // By hand: a regular expression for the end of a line full of them would look at each of them for each of them.
    let end = text.length;
    while (end > 0 && text[end - 1] === CARRIAGE_RETURN) end -= 1;
    const start = end === 0 ? 0 : text.lastIndexOf(CARRIAGE_RETURN, end - 1) + 1;
    this.#onLine(start === 0 && end === text.length ? text : text.slice(start, end));
  }
}
