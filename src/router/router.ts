import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { RequestRefused } from '../supervisor/lease-desk.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import type { AccessLog } from './access-log.js';
import type { ApiKeys } from './auth.js';
import { ChildConnections } from './child-connections.js';
import type { RouterContext, ScreenDesk } from './context.js';
import { Conversations, ConversationStopped } from './conversations.js';
import { corsHeaders, preflightHeaders, type CorsPolicy } from './cors.js';
import { Exchange } from './exchange.js';
import { Metrics } from './metrics.js';
import { answerPage, isOfPage } from './page.js';
import { toldRefusal } from './refusal.js';
import { findRoute } from './route-table.js';
import { Reply } from './reply.js';
import { BodyError, ClientGone, HeldBodies } from './request-body.js';
import { errorBody, sendError, type ApiError } from './respond.js';
import { upgrade } from './upgrade.js';

/** A private key and its certificate, in PEM. */
export interface TlsFiles {
  readonly key: Buffer;
  readonly cert: Buffer;
}

export interface RouterOptions {
  readonly supervisor: Supervisor;
  readonly desk: ScreenDesk;
  readonly keys: ApiKeys;
  readonly cors: CorsPolicy;
  readonly maxBodyBytes: number;
  /** Whether a request may load a model, where it does not say so itself. */
  readonly autoload: boolean;
  /** See RouterContext. */
  readonly pageDirectory: string | null;
  readonly uiSettings: object;
  readonly prefix: string;
  /** Null: plain HTTP. */
  readonly tls: TlsFiles | null;
  /** How long a child may be silent in the middle of a request (`--timeout`); 0: for ever. */
  readonly timeoutMillis: number;
  /** Null: requests are not logged. */
  readonly log: AccessLog | null;
}

/** A client is given this long to send its headers; everything after that takes as long as it takes. */
const HEADERS_LIMIT_MILLIS = 60_000;

/** Longer than clients keep idle connections, so that it is they who close them and no request meets a closing one. */
const KEEP_ALIVE_MILLIS = 75_000;

/** So many of the largest bodies may be held at the same time, while their models load. */
const HELD_BODIES = 16;

/** A client that was refused before it had sent everything may go on for so long, so that it comes to read why. */
const LINGER_MILLIS = 5_000;

/** The HTTP side of the supervisor: one server for the network, one for the unix socket of this user. */
export class Router {
  readonly #context: RouterContext;
  readonly #log: AccessLog | null;
  readonly #tls: TlsFiles | null;
  readonly #servers: (Server | TlsServer)[] = [];
  #exchanges = 0;

  constructor({ timeoutMillis, log, tls, ...options }: RouterOptions) {
    const { supervisor, maxBodyBytes } = options;
    const connections = new ChildConnections(timeoutMillis);
    this.#log = log;
    this.#tls = tls;
    this.#context = {
      ...options,
      connections,
      conversations: new Conversations(),
      held: new HeldBodies(maxBodyBytes * HELD_BODIES),
      metrics: new Metrics(supervisor),
    };
    supervisor.onHangUp((generation) => connections.hangUp(generation));
    supervisor.onTurn(({ event, state }) => {
      if (event.type !== 'exited') return;
      const alive = Object.values(state.models).flatMap((model) => model.instance?.generation ?? []);
      connections.keepOnly(new Set(alive));
    });
  }

  /** A server that is not listening yet. `local`: reachable by this user only, so it needs no key. */
  server(local: boolean): Server | TlsServer {
    const options = {
      ...{ requestTimeout: 0, headersTimeout: HEADERS_LIMIT_MILLIS, keepAliveTimeout: KEEP_ALIVE_MILLIS },
      ...{ noDelay: true, ServerResponse: Reply },
      // Clients that would rather speak HTTP/2 offer to on every request; who cannot is to answer as if they had not.
      shouldUpgradeCallback: ({ headers }: IncomingMessage) => /\bwebsocket\b/iu.test(headers.upgrade ?? ''),
    };
    const server = local || this.#tls === null ? createServer(options) : createTlsServer({ ...options, ...this.#tls });
    server.on('request', (request, response: Reply) => void this.#handle(request, response, local));
    // A client that asks before it sends its body is told to go on when the body is wanted.
    server.on('checkContinue', (request, response: Reply) => void this.#handle(request, response, local));
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      void upgrade(request, socket, head, local, this.#context);
    });
    server.on('clientError', answerBrokenRequest);
    this.#servers.push(server);
    return server;
  }

  /** Ends every connection. */
  close(): void {
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
    this.#context.connections.close();
    void this.#log?.close();
  }

  async #handle(request: IncomingMessage, response: Reply, local: boolean): Promise<void> {
    this.#exchanges += 1;
    // Who asks over the socket is a program of ours, and knows no prefix.
    const prefix = local ? '' : this.#context.prefix;
    const exchange = new Exchange(this.#exchanges, request, response, local, prefix);
    const sentBefore = request.socket.bytesWritten;
    response.on('close', () => {
      if (!response.writableFinished) exchange.leave();
      this.#context.metrics.requested(exchange.model, response.headersSent ? response.statusCode : 0);
      this.#log?.ended(exchange, request.socket.bytesWritten - sentBefore, Date.now());
    });
    try {
      await this.#answer(exchange);
    } catch (error) {
      const told = toApiError(error, this.#context.supervisor);
      if (told !== null) sendError(response, told, exchange.shape);
    }
    if (!request.complete) lingerFor(request, response);
  }

  #answer(exchange: Exchange): void | Promise<void> {
    const { request, response, method, path, shape, local } = exchange;
    const { keys, cors, supervisor } = this.#context;
    if (path === '') {
      return sendError(response, { status: 400, code: 'bad_request', message: 'the request target is not a path' });
    }
    const isOurs = path.startsWith('/supervisor/');
    if (!isOurs) response.pageHeaders = corsHeaders(cors, request);
    if (method === 'OPTIONS') {
      response.begin(200, [...(isOurs ? [] : preflightHeaders(cors, request)), 'Content-Length', '0']);
      response.end();
      return;
    }
    if (!exchange.isInside) {
      const message = `the routes of this router begin with ${exchange.prefix}/`;
      return sendError(response, { status: 404, code: 'not_found', message }, shape);
    }
    const isHealth = path === '/health' || path === '/v1/health';
    const found = findRoute(method, path);
    const isPage = typeof found !== 'function' && found.length === 0 && isOfPage(exchange, this.#context);
    if (!local && !isHealth && !isPage && !keys.allows(request)) {
      response.setHeader('WWW-Authenticate', 'Bearer');
      return sendError(response, { status: 401, code: 'invalid_api_key', message: 'a valid API key is needed' }, shape);
    }
    if (isPage) return answerPage(exchange, this.#context);
    if (typeof found === 'function') {
      // The figures of one that is starting can be watched, and it can be told to end; all else is about models.
      const mayComeEarly = isHealth || (isOurs && (method === 'GET' || method === 'HEAD'));
      if (supervisor.isStarted || mayComeEarly || path === '/supervisor/shutdown') {
        return found(exchange, this.#context);
      }
      return supervisor.started.then(() => found(exchange, this.#context));
    }
    if (found.length > 0) response.setHeader('Allow', found.join(', '));
    const instead = found.length > 0 ? `; use ${found.join(' or ')}` : '';
    const message = `${method} ${path.slice(0, 100)} is not a route of this router${instead}`;
    sendError(response, { status: found.length > 0 ? 405 : 404, code: 'not_found', message }, shape);
  }
}

/** Null: there is nobody left to tell. */
function toApiError(error: unknown, supervisor: Supervisor): ApiError | null {
  if (error instanceof ClientGone) return null;
  if (error instanceof BodyError) return error.error;
  if (error instanceof ConversationStopped) {
    return { status: 400, code: 'conversation_stopped', message: error.message };
  }
  if (error instanceof RequestRefused) return toldRefusal(error, supervisor);
  return { status: 500, code: 'internal_error', message: error instanceof Error ? error.message : String(error) };
}

/** Reads on, into nothing, so that the client comes to read its answer; then the connection is cut. */
function lingerFor(request: IncomingMessage, response: Reply): void {
  if (response.destroyed || request.destroyed || !response.writableEnded) return;
  request.resume();
  const timer = setTimeout(() => request.destroy(), LINGER_MILLIS);
  request.once('end', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
}

/** What Node cannot read as a request is answered in the API's words all the same. */
function answerBrokenRequest(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, reason, message] = whatIsBroken(error.code);
  const text = JSON.stringify(errorBody({ status, code: 'bad_request', message }, 'openai'));
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy());
}

function whatIsBroken(code: string | undefined): readonly [number, string, string] {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return [431, 'Request Header Fields Too Large', 'the headers of the request are too large'];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, 'Request Timeout', 'the headers of the request did not come in time'];
    default:
      return [400, 'Bad Request', 'this is not an HTTP/1.1 request'];
  }
}
