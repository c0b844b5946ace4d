import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Pool, type Dispatcher } from 'undici';
import type { Lease } from '../supervisor/lease-desk.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import { headersForChild, headersForClient } from './headers.js';
import { errorBody, sendError, type ApiError, type ErrorShape } from './respond.js';

/** One pool of connections for each child; gone with its generation. */
export class ChildConnections {
  readonly #pools = new Map<number, Pool>();

  poolFor(generation: number, port: number): Pool {
    const known = this.#pools.get(generation);
    if (known !== undefined) return known;
    // No time limits of the client library: a model may think for an hour before its first token.
    const pool = new Pool(`http://127.0.0.1:${port}`, { headersTimeout: 0, bodyTimeout: 0, pipelining: 1 });
    this.#pools.set(generation, pool);
    return pool;
  }

  /** Ends what a generation is still answering. */
  hangUp(generation: number): void {
    const pool = this.#pools.get(generation);
    this.#pools.delete(generation);
    void pool?.destroy();
  }

  /** Closes the pools of generations that are gone. */
  keepOnly(generations: ReadonlySet<number>): void {
    for (const [generation, pool] of this.#pools) {
      if (generations.has(generation)) continue;
      this.#pools.delete(generation);
      void pool.destroy();
    }
  }

  close(): void {
    this.keepOnly(new Set());
  }
}

export interface Forwarding {
  readonly supervisor: Supervisor;
  readonly connections: ChildConnections;
  readonly lease: Lease;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** What the child is asked for: path and query. */
  readonly path: string;
  readonly body: Buffer;
  readonly shape: ErrorShape;
  /** Aborts when the client goes; the child's request ends with it. */
  readonly signal: AbortSignal;
}

/**
 * Sends a request to the child of a lease and its reply back, byte for byte, every chunk at once. A child that dies
 * before its first byte is a 502 with the reason of its exit; one that dies in a stream ends it with an error event.
 */
export async function forward(forwarding: Forwarding): Promise<void> {
  const { supervisor, connections, lease, response, signal, shape } = forwarding;
  const port = supervisor.portOf(lease);
  let isEventStream = false;
  try {
    if (port === null) throw new Error('its process has gone');
    const reply = await askChild(connections.poolFor(lease.generation, port), forwarding);
    const headers = headersForClient(rawHeaders(reply), response.getHeaderNames());
    isEventStream = headers.some((part) => part.startsWith('text/event-stream'));
    response.writeHead(reply.statusCode, headers);
    response.flushHeaders();
    await relay(reply.body, response, signal, (bytes) => supervisor.forwarded(lease, bytes));
    response.end();
  } catch (error) {
    if (signal.aborted) return;
    tellFailure(await failureOf(supervisor, lease, error), response, shape, isEventStream);
  }
}

function askChild(pool: Pool, forwarding: Forwarding): Promise<Dispatcher.ResponseData> {
  const { request, body, path, signal } = forwarding;
  return pool.request({
    path,
    method: request.method ?? 'GET',
    headers: headersForChild(request.rawHeaders),
    body: body.length > 0 || request.method === 'POST' ? body : null,
    signal,
    responseHeaders: 'raw',
  });
}

/** With `responseHeaders: 'raw'` undici gives the flat list of names and values, which its types do not know. */
function rawHeaders(reply: Dispatcher.ResponseData): string[] {
  return (reply.headers as unknown as readonly (string | Buffer)[]).map((part) =>
    typeof part === 'string' ? part : part.toString('latin1'),
  );
}

async function relay(
  body: AsyncIterable<Buffer>,
  response: ServerResponse,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  for await (const chunk of body) {
    onBytes(chunk.length);
    if (!response.write(chunk)) await once(response, 'drain', { signal });
  }
}

async function failureOf(supervisor: Supervisor, lease: Lease, error: unknown): Promise<ApiError> {
  const exit = await supervisor.exitOf(lease);
  const reason = exit?.reason ?? (error instanceof Error ? error.message : String(error));
  return { status: 502, code: 'model_died', message: `model '${lease.model}' ended before it had answered: ${reason}` };
}

function tellFailure(error: ApiError, response: ServerResponse, shape: ErrorShape, isEventStream: boolean): void {
  if (!response.headersSent) {
    sendError(response, error, shape);
    return;
  }
  if (isEventStream && !response.destroyed) {
    const event = shape === 'anthropic' ? 'event: error\n' : '';
    response.end(`${event}data: ${JSON.stringify(errorBody(error, shape))}\n\n`);
    return;
  }
  // A reply that is cut short must not look complete.
  response.destroy();
}
