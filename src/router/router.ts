import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setMaxListeners } from 'node:events';
import { RequestRefused } from '../supervisor/lease-desk.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import type { ApiKeys } from './auth.js';
import { ChildConnections, forward } from './forward.js';
import { changeModel, listModels, showModel, streamModelEvents, unknownModel } from './models-api.js';
import { BodyError, parseJsonObject, readBody } from './request-body.js';
import { requestedModel } from './requested-model.js';
import { sendError, sendJson, type ApiError, type ErrorShape } from './respond.js';
import { forwardedRoute, methodsOf } from './routes.js';
import { supervisorApi, type ScreenDesk } from './supervisor-api.js';

export interface RouterOptions {
  readonly supervisor: Supervisor;
  readonly desk: ScreenDesk;
  readonly keys: ApiKeys;
  readonly maxBodyBytes: number;
  /** Whether a request may load a model, where it does not say so itself. */
  readonly autoload: boolean;
}

/** A client is given this long to send its headers; everything after that takes as long as it takes. */
const HEADERS_LIMIT_MILLIS = 60_000;

/** Longer than clients keep idle connections, so that it is they who close them and no request meets a closing one. */
const KEEP_ALIVE_MILLIS = 75_000;

/** The HTTP side of the supervisor: one for the network, one for the unix socket of this user. */
export class Router {
  readonly #options: RouterOptions;
  readonly #connections = new ChildConnections();
  readonly #servers: Server[] = [];

  constructor(options: RouterOptions) {
    this.#options = options;
    options.supervisor.onHangUp((generation) => this.#connections.hangUp(generation));
    options.supervisor.onTurn(({ event, state }) => {
      if (event.type !== 'exited') return;
      const alive = Object.values(state.models).flatMap((model) => model.instance?.generation ?? []);
      this.#connections.keepOnly(new Set(alive));
    });
  }

  /** A server that is not listening yet. `local`: reachable by this user only, so it needs no key. */
  server(local: boolean): Server {
    const server = createServer(
      { requestTimeout: 0, headersTimeout: HEADERS_LIMIT_MILLIS, keepAliveTimeout: KEEP_ALIVE_MILLIS },
      (request, response) => void this.#handle(request, response, local),
    );
    server.on('clientError', (_error, socket) => {
      if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
    });
    this.#servers.push(server);
    return server;
  }

  /** Ends every connection. */
  close(): void {
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
    this.#connections.close();
  }

  async #handle(request: IncomingMessage, response: ServerResponse, local: boolean): Promise<void> {
    const url = parseUrl(request.url);
    const shape: ErrorShape = url?.pathname.startsWith('/v1/messages') ? 'anthropic' : 'openai';
    try {
      if (url === null) {
        sendError(response, { status: 400, code: 'bad_request', message: 'the request target is not a path' });
        return;
      }
      if (!url.pathname.startsWith('/supervisor/')) setCorsHeaders(request, response);
      if (request.method === 'OPTIONS') {
        response.writeHead(204).end();
        return;
      }
      const isHealth = url.pathname === '/health' || url.pathname === '/v1/health';
      if (!local && !isHealth && !this.#options.keys.allows(request)) {
        response.setHeader('www-authenticate', 'Bearer');
        sendError(response, { status: 401, code: 'invalid_api_key', message: 'a valid API key is needed' }, shape);
        return;
      }
      await this.#route(request, response, url, shape, local);
    } catch (error) {
      sendError(response, toApiError(error, this.#options.supervisor), shape);
    }
  }

  async #route(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    shape: ErrorShape,
    local: boolean,
  ): Promise<void> {
    const { supervisor, desk } = this.#options;
    const { pathname } = url;
    // Node leaves the body of a reply to HEAD out by itself.
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET');
    const route = `${method} ${pathname}`;
    if (pathname.startsWith('/supervisor/')) return supervisorApi(supervisor, desk, request, response, url, local);
    switch (route) {
      case 'GET /health':
      case 'GET /v1/health':
        return sendJson(response, 200, { status: 'ok' });
      case 'GET /models':
      case 'GET /v1/models':
        return listModels(supervisor, response);
      case 'GET /models/sse':
        return streamModelEvents(supervisor, request, response);
      case 'POST /models/load':
      case 'POST /models/unload': {
        const { model } = parseJsonObject(await readBody(request, this.#options.maxBodyBytes));
        return changeModel(supervisor, response, pathname === '/models/load' ? 'load' : 'unload', model);
      }
    }
    if (route === 'GET /props' && !url.searchParams.has('model')) {
      const { modelsMax } = supervisor.snapshot();
      const { autoload } = this.#options;
      const build = `llm-tui ${supervisor.info.version}`;
      return sendJson(response, 200, {
        role: 'router',
        max_instances: modelsMax,
        models_autoload: autoload,
        build_info: build,
      });
    }
    const retrieved = /^(?:\/v1)?\/models\/(.+)$/u.exec(pathname)?.[1];
    if (method === 'GET' && retrieved !== undefined) return showModel(supervisor, response, retrieved);
    const kind = forwardedRoute(method, pathname);
    if (kind !== null) return this.#forward(request, response, url, shape, kind);
    const methods = methodsOf(pathname);
    if (methods.length > 0) response.setHeader('allow', methods.join(', '));
    const message = `${route} is not a route of this router${methods.length > 0 ? `; use ${methods.join(' or ')}` : ''}`;
    sendError(response, { status: methods.length > 0 ? 405 : 404, code: 'not_found', message }, shape);
  }

  async #forward(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    shape: ErrorShape,
    kind: 'use' | 'read',
  ): Promise<void> {
    const { supervisor, maxBodyBytes } = this.#options;
    const gone = new AbortController();
    setMaxListeners(0, gone.signal);
    response.once('close', () => gone.abort(new Error('the client has gone')));

    const body = await readBody(request, maxBodyBytes);
    const name = requestedModel(request, url, body) ?? this.#onlyModel();
    const entry = name === null ? null : supervisor.resolve(name);
    if (entry === null) {
      sendError(response, unknownModel(supervisor, name), shape);
      return;
    }
    const options = { autoload: mayLoad(url, this.#options.autoload), signal: gone.signal };
    using lease = kind === 'read' ? supervisor.peek(entry.id) : await supervisor.acquire(entry.id, options);
    const path = pathForChild(url);
    const connections = this.#connections;
    await forward({ supervisor, connections, lease, request, response, path, body, shape, signal: gone.signal });
  }

  /** With one model configured, a request that names none means that one. */
  #onlyModel(): string | null {
    const entries = this.#options.supervisor.entries();
    return entries.length === 1 ? (entries[0]?.id ?? null) : null;
  }
}

function parseUrl(target: string | undefined): URL | null {
  return URL.parse(target ?? '/', 'http://localhost');
}

/** `autoload` is for the router; a child knows nothing of it. The rest of the query stays as it was written. */
function pathForChild(url: URL): string {
  const parts = url.search.slice(1).split('&');
  const rest = parts.filter((part) => part !== '' && !/^autoload(?:=|$)/u.test(part));
  return url.pathname + (rest.length > 0 ? `?${rest.join('&')}` : '');
}

function mayLoad(url: URL, otherwise: boolean): boolean {
  const value = url.searchParams.get('autoload');
  if (value === null) return otherwise;
  return value === 'true' || value === '1';
}

/** Any page may call, as with llama-server; credentials are bearer keys, which a browser never adds by itself. */
function setCorsHeaders(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', request.headers.origin ?? '*');
  if (request.method !== 'OPTIONS') return;
  response.setHeader('access-control-allow-methods', 'GET, POST, DELETE, OPTIONS');
  response.setHeader('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '*');
  response.setHeader('access-control-max-age', '86400');
}

function toApiError(error: unknown, supervisor: Supervisor): ApiError {
  if (error instanceof BodyError) return error.error;
  if (error instanceof RequestRefused) {
    const { status, code, message, retryAfterSeconds } = error;
    return { status, code, message, retryAfterSeconds, decision: supervisor.decision(error.decision) };
  }
  return { status: 500, code: 'internal_error', message: error instanceof Error ? error.message : String(error) };
}
