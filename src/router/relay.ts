import type { Client, Dispatcher } from 'undici';
import type { ChildPool } from './child-connections.js';
import type { Exchange } from './exchange.js';
import { headersForClient, isEventStream } from './headers.js';
import type { Reply } from './reply.js';

export interface ChildRequest {
  /** Path and query. */
  readonly path: string;
  readonly method: string;
  /** Flat list of names and values. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

/** How far a relay came before it failed. */
export interface RelayFailure {
  readonly error: Error;
  /** The child has begun to answer. */
  readonly answered: boolean;
  readonly eventStream: boolean;
}

/**
 * Sends a request to a child and its answer on to a client: byte for byte, every chunk at once, as fast as the slower
 * of the two. Resolves to null when the answer is complete, else to what went wrong. A connection that the child has
 * closed between two requests is replaced without the client noticing.
 * @param onBytes told of every piece of the answer's body
 */
export async function relay(
  pool: ChildPool,
  request: ChildRequest,
  exchange: Exchange,
  onBytes: (bytes: number) => void,
): Promise<RelayFailure | null> {
  const { client, reused } = pool.take();
  const failure = await once(pool, client, request, exchange, onBytes);
  const wasIdle = reused && failure !== null && !failure.answered && isLostConnection(failure.error);
  if (!wasIdle || exchange.isOver) return failure;
  return once(pool, pool.takeNew().client, request, exchange, onBytes);
}

function once(
  pool: ChildPool,
  client: Client,
  request: ChildRequest,
  exchange: Exchange,
  onBytes: (bytes: number) => void,
): Promise<RelayFailure | null> {
  return new Promise((resolve) => {
    const settle = (failure: RelayFailure | null): void => {
      if (failure === null) pool.giveBack(client);
      else pool.drop(client);
      resolve(failure);
    };
    const { path, method, headers, body } = request;
    const handler = new RelayHandler(exchange, onBytes, settle);
    client.dispatch({ path, method, headers: headers as string[], body }, handler);
  });
}

/** The child had closed the connection, or did so when it was written to. */
function isLostConnection(error: Error): boolean {
  const code = 'code' in error ? error.code : '';
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
}

/** undici's callbacks, with nothing between them and the client's connection. */
class RelayHandler implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange;
  readonly #response: Reply;
  readonly #onBytes: (bytes: number) => void;
  readonly #settle: (failure: RelayFailure | null) => void;
  #answered = false;
  #eventStream = false;
  #paused = false;

  constructor(exchange: Exchange, onBytes: (bytes: number) => void, settle: (failure: RelayFailure | null) => void) {
    this.#exchange = exchange;
    this.#response = exchange.response;
    this.#onBytes = onBytes;
    this.#settle = settle;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const abort = (): void => controller.abort(new Error('nothing more of it is wanted'));
    if (this.#exchange.isOver) abort();
    else this.#exchange.onLeave = abort;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    statusMessage?: string,
  ): void {
    // 103 and its kin are hints for one connection.
    if (status < 200) return;
    this.#answered = true;
    const headers = headersForClient(controller.rawHeaders as readonly Buffer[]);
    this.#eventStream = isEventStream(headers);
    const response = this.#response;
    response.begin(status, headers, statusMessage);
    // Headers leave at once, in one packet with what came with them.
    const { socket } = response;
    socket?.cork();
    response.flushHeaders();
    process.nextTick(() => socket?.uncork());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#onBytes(chunk.length);
    if (this.#response.write(chunk) || this.#paused) return;
    this.#paused = true;
    controller.pause();
    this.#response.once('drain', () => {
      this.#paused = false;
      controller.resume();
    });
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.#exchange.onLeave = null;
    const trailers = trailersOf(controller);
    if (trailers.length > 0) this.#response.addTrailers(trailers);
    this.#response.end();
    this.#settle(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#exchange.onLeave = null;
    this.#settle({ error, answered: this.#answered, eventStream: this.#eventStream });
  }
}

function trailersOf({ rawTrailers }: Dispatcher.DispatchController): [string, string][] {
  const pairs: [string, string][] = [];
  if (!Array.isArray(rawTrailers)) return pairs;
  for (let i = 0; i + 1 < rawTrailers.length; i += 2) {
    pairs.push([String(rawTrailers[i]), String(rawTrailers[i + 1])]);
  }
  return pairs;
}
