import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiError } from './respond.js';

/** A body that cannot be taken, with what the client should be told. */
export class BodyError extends Error {
  readonly error: ApiError;

  constructor(error: ApiError) {
    super(error.message);
    this.name = 'BodyError';
    this.error = error;
  }
}

/** The client has gone before it had sent its whole request. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** A client that sends nothing of its body for this long is not slow, it is gone or means harm. */
const STALL_MILLIS = 120_000;

/** Encodings that llama-server's HTTP library knows, and which its builds without zlib answer with 415. */
const KNOWN_ENCODINGS = /^\s*(?:gzip|deflate|br|zstd|x-gzip)\s*$/iu;

/** Bodies of many requests together: they are held until their model is up. */
export class HeldBodies {
  readonly #limitBytes: number;
  #bytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False when there is no room for so much more; nothing is held then. */
  hold(bytes: number): boolean {
    if (this.#bytes + bytes > this.#limitBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}

export interface BodyLimits {
  readonly limitBytes: number;
  readonly held: HeldBodies;
}

/** A whole body; `release` once it is no longer needed, any number of times. */
export interface HeldBody {
  readonly bytes: Buffer;
  release(): void;
}

/**
 * Reads a whole body, byte for byte. Throws BodyError: 413 beyond the limit, 415 for a compressed one, 503 when too
 * much is held already, 408 when nothing comes any more; and ClientGone.
 */
export function readBody(request: IncomingMessage, response: ServerResponse, limits: BodyLimits): Promise<HeldBody> {
  const { limitBytes, held } = limits;
  const { headers } = request;
  if (KNOWN_ENCODINGS.test(headers['content-encoding'] ?? '')) return Promise.reject(compressed(headers));
  if (Number(headers['content-length'] ?? 0) > limitBytes) return Promise.reject(tooLarge(limitBytes));
  if (expectsContinue(request)) response.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let timer: NodeJS.Timeout | null = null;
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      held.release(size);
    };
    const settle = (): void => {
      if (timer !== null) clearTimeout(timer);
      request.off('data', take).off('end', finish).off('close', gone).off('error', gone);
    };
    const fail = (error: Error): void => {
      settle();
      release();
      request.resume();
      reject(error);
    };
    const gone = (): void => fail(new ClientGone('the client has gone before its request was complete'));
    const finish = (): void => {
      settle();
      const [first] = chunks;
      resolve({ bytes: chunks.length === 1 && first ? first : Buffer.concat(chunks, size), release });
    };
    const take = (chunk: Buffer): void => {
      if (size + chunk.length > limitBytes) return fail(tooLarge(limitBytes));
      if (!held.hold(chunk.length)) return fail(tooMuchHeld());
      size += chunk.length;
      chunks.push(chunk);
      // A body that comes whole, as nearly all do, needs no timer.
      if (timer !== null) timer.refresh();
      else if (!request.complete) timer = setTimeout(() => fail(stalled()), STALL_MILLIS);
    };
    request.on('data', take).on('end', finish).on('close', gone).on('error', gone);
  });
}

function expectsContinue(request: IncomingMessage): boolean {
  return /^100-continue$/iu.test(request.headers.expect ?? '');
}

function compressed(headers: IncomingMessage['headers']): BodyError {
  const message = `a body with content-encoding ${headers['content-encoding'] ?? ''} is not taken; send it as it is`;
  return new BodyError({ status: 415, code: 'unsupported_encoding', message });
}

function tooLarge(limitBytes: number): BodyError {
  const limit = `${Math.floor(limitBytes / 1024 / 1024)} MiB`;
  return new BodyError({
    status: 413,
    code: 'body_too_large',
    message: `the body is larger than ${limit} (--max-body)`,
  });
}

function tooMuchHeld(): BodyError {
  const message = 'the bodies of the requests that wait already take all the memory there is for them; try again';
  return new BodyError({ status: 503, code: 'too_many_bodies', message, retryAfterSeconds: 1 });
}

function stalled(): BodyError {
  const message = `nothing more of the body came for ${STALL_MILLIS / 1000} s`;
  return new BodyError({ status: 408, code: 'request_timeout', message });
}

/** The JSON object in a body. Throws BodyError (400). */
export function parseJsonObject(body: Buffer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(textOf(body));
  } catch {
    throw invalidJson(body);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BodyError({ status: 400, code: 'invalid_json', message: 'the body must be a JSON object' });
  }
  return value as Readonly<Record<string, unknown>>;
}

/** What is wrong with a body that is no JSON, without showing what is in it. */
export function invalidJson(body: Buffer): BodyError {
  let why = 'it is malformed';
  try {
    JSON.parse(textOf(body));
  } catch (cause) {
    // Node quotes the text around the mistake, which may be somebody's prompt.
    const place = cause instanceof Error ? /at position (\d+)/u.exec(cause.message)?.[1] : undefined;
    why = place === undefined ? 'it ends too early or has something where nothing may be' : `see position ${place}`;
  }
  return new BodyError({ status: 400, code: 'invalid_json', message: `the body is not JSON: ${why}` });
}

function textOf(body: Buffer): string {
  const text = body.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
