import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { MIB, type Bytes } from '../../../scheduler/units.js';
import { HttpError } from './http-error.js';

const BODY_LIMIT_BYTES: Bytes = 64 * MIB;

/** Reads a JSON object. Throws HttpError 413 above 64 MiB, 400 for anything else. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const tooLarge = new HttpError(413, 'The body is larger than 64 MiB.');
  if (Number(request.headers['content-length'] ?? 0) > BODY_LIMIT_BYTES) throw tooLarge;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > BODY_LIMIT_BYTES) throw tooLarge;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
  } catch {
    throw new HttpError(400, 'The body is not valid JSON.');
  }
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  sendText(response, status, 'application/json; charset=utf-8', JSON.stringify(body));
}

export function sendText(response: ServerResponse, status: number, type: string, body: string): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** Aborts when the client goes away before it has its whole answer. */
export function abortOnDisconnect(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) controller.abort(new Error('The client has gone.'));
  });
  return controller.signal;
}

/** A stream of server-sent events, each one JSON; begins with the first event. */
export interface EventStream {
  /** Resolves when the client can take more. */
  send(event: object): Promise<void>;
  end(lastEvent?: string): void;
  readonly begun: boolean;
}

export function createEventStream(response: ServerResponse, signal: AbortSignal): EventStream {
  const begin = (): void => {
    if (response.headersSent) return;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  };
  return {
    get begun() {
      return response.headersSent;
    },
    async send(event) {
      begin();
      if (!response.write(`data: ${JSON.stringify(event)}\n\n`)) await once(response, 'drain', { signal });
    },
    end(lastEvent) {
      begin();
      response.end(lastEvent === undefined ? '' : `data: ${lastEvent}\n\n`);
    },
  };
}
