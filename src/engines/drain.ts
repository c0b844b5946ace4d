import type { Readable } from 'node:stream';
import { MIB, type Bytes, type Millis } from '../scheduler/units.js';
import { LineSplitter } from './line-splitter.js';

const MAX_LINE_BYTES: Bytes = MIB;
/** So much is read before the time is looked at. */
const PIECE_BYTES: Bytes = 4096;
/** One child's output is read for so long at a stretch, */
const STRETCH_MILLIS: Millis = 2;
/** and then so long not: a child that prints without end takes a tenth of one core here at most. */
const REST_MILLIS: Millis = 18;

export interface Drain {
  /** Resolves once everything has been read. */
  readonly ended: Promise<void>;
  /** Bytes read so far. */
  bytes(): Bytes;
  /** The child has ended: what is left is not much, and wanted at once. */
  finish(): void;
}

/**
 * Reads a pipe to its end, line by line. Nothing is lost: a child that prints faster than it may be read is slowed
 * down by its full pipe, while everybody else is served.
 */
export function drain(stream: Readable, onLine: (line: string) => void): Drain {
  const splitter = new LineSplitter(onLine, MAX_LINE_BYTES);
  const { promise: ended, resolve } = Promise.withResolvers<undefined>();
  /** Came when it was not its turn. Mostly one chunk: a pipe that is paused brings no more, unless others resume it. */
  const backlog: Buffer[] = [];
  let bytes = 0;
  let spentMillis = 0;
  let isNewTurn = true;
  let isResting = false;
  let isFinishing = false;

  /** True when it has all been read within the time. */
  const read = (chunk: Buffer): boolean => {
    const began = performance.now();
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      splitter.push(chunk.subarray(at, at + PIECE_BYTES));
      if (spentMillis + performance.now() - began < STRETCH_MILLIS) continue;
      const rest = chunk.subarray(at + PIECE_BYTES);
      if (rest.length > 0) backlog.unshift(rest);
      return false;
    }
    spentMillis += performance.now() - began;
    return true;
  };
  const rest = (): void => {
    isResting = true;
    stream.pause();
    setTimeout(goOn, isFinishing ? 0 : REST_MILLIS);
  };
  const goOn = (): void => {
    isResting = false;
    spentMillis = 0;
    for (let next = backlog.shift(); next !== undefined; next = backlog.shift()) {
      if (read(next)) continue;
      rest();
      return;
    }
    stream.resume();
  };
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (isResting) {
      backlog.push(chunk);
      return;
    }
    if (isNewTurn) {
      // A stretch is one turn of the event loop; chunks of the same turn share it.
      isNewTurn = false;
      setImmediate(() => {
        isNewTurn = true;
        spentMillis = 0;
      });
    }
    if (!read(chunk)) rest();
  });
  stream.on('error', () => undefined);
  const close = (): void => {
    for (const chunk of backlog.splice(0)) splitter.push(chunk);
    splitter.end();
    resolve(undefined);
  };
  if (stream.closed) close();
  else stream.once('close', close);

  return {
    ended,
    bytes: () => bytes,
    finish() {
      isFinishing = true;
    },
  };
}
