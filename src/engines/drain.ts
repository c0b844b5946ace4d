import type { Readable } from 'node:stream';
import { MIB, type Bytes, type Millis } from '../scheduler/units.js';
import { LineSplitter } from './line-splitter.js';

const MAX_LINE_BYTES: Bytes = MIB;
/** So much is read before the time is looked at. */
const PIECE_BYTES: Bytes = 4096;
/** One child's output is read for so long at a stretch, */
const STRETCH_MILLIS: Millis = 3;
/** and then so long not: a child that prints without end takes a fifth of one core here at most. */
const REST_MILLIS: Millis = 12;

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
  let bytes = 0;
  let backlog: Buffer | null = null;
  let spentMillis = 0;
  let isLastTurn = true;
  let isFinishing = false;

  /** True when it has all been read within the time. */
  const read = (chunk: Buffer): boolean => {
    const began = performance.now();
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      splitter.push(chunk.subarray(at, at + PIECE_BYTES));
      if (spentMillis + performance.now() - began < STRETCH_MILLIS) continue;
      backlog = chunk.subarray(at + PIECE_BYTES);
      return false;
    }
    spentMillis += performance.now() - began;
    return true;
  };
  const pauseForOthers = (): void => void setTimeout(goOn, isFinishing ? 0 : REST_MILLIS);
  const goOn = (): void => {
    spentMillis = 0;
    const rest = backlog;
    backlog = null;
    if (rest === null || read(rest)) stream.resume();
    else pauseForOthers();
  };
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (isLastTurn) {
      // A stretch is one turn of the event loop; chunks of the same turn share it.
      isLastTurn = false;
      setImmediate(() => {
        isLastTurn = true;
        spentMillis = 0;
      });
    }
    if (read(chunk)) return;
    stream.pause();
    pauseForOthers();
  });
  stream.on('error', () => undefined);
  const close = (): void => {
    if (backlog !== null) splitter.push(backlog);
    backlog = null;
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
      if (backlog !== null) goOn();
    },
  };
}
