import type { IncomingMessage } from 'node:http';
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

/** Reads a whole body, byte for byte. Throws BodyError (413) beyond the limit; rejects when the client goes. */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const tooLarge = (): BodyError => {
    const limit = `${Math.floor(limitBytes / 1024 / 1024)} MiB`;
    return new BodyError({
      status: 413,
      code: 'body_too_large',
      message: `the body is larger than ${limit} (--max-body)`,
    });
  };
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limitBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** The JSON object in a body. Throws BodyError (400). */
export function parseJsonObject(body: Buffer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BodyError({ status: 400, code: 'invalid_json', message: `the body is not JSON: ${why}` });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BodyError({ status: 400, code: 'invalid_json', message: 'the body must be a JSON object' });
  }
  return value as Readonly<Record<string, unknown>>;
}
