import { closeSync, openSync, readSync } from 'node:fs';

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

export interface Line {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  /** False for a last line without an end: its writer was stopped in the middle. */
  readonly finished: boolean;
}

/** The lines of a file, read piece by piece: a journal may be longer than a string can be. Throws what the file system says. */
export function* linesOf(path: string): Generator<Line, void, undefined> {
  const descriptor = openSync(path, 'r');
  try {
    let rest: Buffer = Buffer.alloc(0);
    let number = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const length = readSync(descriptor, chunk);
      if (length === 0) break;
      const bytes = Buffer.concat([rest, chunk.subarray(0, length)]);
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
        number += 1;
        yield { number, text: bytes.toString('utf8', start, end), finished: true };
        start = end + 1;
      }
      rest = bytes.subarray(start);
    }
    if (rest.length > 0) yield { number: number + 1, text: rest.toString('utf8'), finished: false };
  } finally {
    closeSync(descriptor);
  }
}
