import http, { type Agent, type ClientRequest, type IncomingMessage } from 'node:http';

/** Where a supervisor listens: its socket on this machine, or a URL. */
export type SupervisorTarget = { readonly socketPath: string } | { readonly url: string; readonly apiKey?: string };

/** A supervisor writes at least a comment every 30 s; after three that did not come, the connection is dead. */
const SILENCE_MILLIS = 90_000;

/** A supervisor that answered, but not with what was asked for. The message is one sentence for people. */
export class SupervisorRefusal extends Error {
  override readonly name = 'SupervisorRefusal';
  /** 0: it answered, but nothing that makes sense. */
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Requests to one supervisor. */
export interface SupervisorHttp {
  /** How the supervisor is called in sentences: its socket path or URL. */
  readonly name: string;
  /** The parsed JSON of a 2xx reply. Throws `SupervisorRefusal`, or what the connection failed with. */
  json(method: 'GET' | 'POST', path: string, body?: unknown): Promise<unknown>;
  /** The text of a reply that goes on until one side ends it. Throws like `json`. */
  stream(path: string, signal: AbortSignal): Promise<AsyncIterable<string>>;
  close(): void;
}

/** Opens nothing yet: every request makes or reuses a connection. */
export function supervisorHttp(target: SupervisorTarget): SupervisorHttp {
  const base = 'url' in target ? new URL(withSlash(target.url)) : new URL('http://localhost/');
  const name = 'url' in target ? target.url : target.socketPath;
  const connections = connectionsTo(base.protocol);
  const headers: Record<string, string> =
    'url' in target && target.apiKey !== undefined ? { authorization: `Bearer ${target.apiKey}` } : {};

  async function ask(method: 'GET' | 'POST', path: string, body?: unknown, signal?: AbortSignal): Promise<Reply> {
    const { request, agent } = await connections;
    const text = body === undefined ? null : JSON.stringify(body);
    const reply = await replyTo(
      request(new URL(path, base), {
        method,
        agent,
        headers:
          text === null
            ? headers
            : { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
        ...('url' in target ? {} : { socketPath: target.socketPath }),
        ...(signal === undefined ? {} : { signal }),
      }),
      text,
    );
    reply.setEncoding('utf8');
    const { statusCode = 0 } = reply;
    if (statusCode >= 200 && statusCode < 300) return reply;
    throw new SupervisorRefusal(refusalSentence(name, statusCode, await textOf(reply)), statusCode);
  }

  return {
    name,
    async json(method, path, body) {
      const text = await textOf(await ask(method, path, body));
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw new SupervisorRefusal(`${name} answered /${path} with something that is not JSON: is it an llm-tui?`, 0);
      }
    },
    async stream(path, signal) {
      const reply = await ask('GET', path, undefined, signal);
      reply.setTimeout(SILENCE_MILLIS, () => reply.destroy(new Failure(SILENT)));
      return reply as AsyncIterable<string>;
    },
    close() {
      void connections.then(({ agent }) => agent.destroy());
    },
  };
}

type Reply = IncomingMessage;

interface Connections {
  readonly request: typeof http.request;
  readonly agent: Agent;
}

/** TLS is loaded only where it is spoken. */
async function connectionsTo(protocol: string): Promise<Connections> {
  const { Agent: Made, request } = protocol === 'https:' ? await import('node:https') : http;
  return { request, agent: new Made({ keepAlive: true }) };
}

/** How long a connection may take to come about. */
const CONNECT_MILLIS = 10_000;

/** Codes of failures that are ours to notice. */
const SILENT = 'SILENT';
const NO_CONNECTION = 'NO_CONNECTION';

class Failure extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** Sends the request; the reply as soon as its head is there, however long that takes once there is a connection. */
function replyTo(request: ClientRequest, body: string | null): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => request.destroy(new Failure(NO_CONNECTION)), CONNECT_MILLIS);
    const connected = (): void => clearTimeout(timer);
    request.once('socket', (socket) => {
      if (socket.connecting) socket.once('connect', connected);
      else connected();
    });
    request.once('close', connected);
    request.once('response', resolve);
    request.on('error', reject);
    request.end(body ?? undefined);
  });
}

async function textOf(reply: Reply): Promise<string> {
  let text = '';
  for await (const piece of reply as AsyncIterable<string>) text += piece;
  return text;
}

/** A failed request in one sentence. */
export function failureSentence(name: string, error: unknown): string {
  if (error instanceof SupervisorRefusal) return error.message;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  switch (code) {
    case 'ENOENT':
      return `Nothing listens at ${name}: the supervisor has ended or was never started.`;
    case 'ECONNREFUSED':
      // A socket outlives a process that had no time to remove it.
      return URL.canParse(name)
        ? `Nothing listens at ${name}.`
        : `Nobody answers at ${name} any more: the supervisor was killed, or has crashed.`;
    case 'EACCES':
      return `The socket ${name} belongs to another user.`;
    case 'ECONNRESET':
    case 'EPIPE':
      return `The connection to ${name} broke off.`;
    case SILENT:
      return `${name} has been silent for too long.`;
    case NO_CONNECTION:
      return `${name} did not answer within 10 s.`;
    case 'ENOTFOUND':
      return `The host name in ${name} is not known.`;
    default:
      return `The connection to ${name} failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function refusalSentence(name: string, status: number, body: string): string {
  if (status === 401 || status === 403) return `${name} wants an API key: give one with --api-key.`;
  try {
    const parsed = JSON.parse(body) as { error?: { message?: unknown } } | null;
    if (typeof parsed?.error?.message === 'string') return parsed.error.message;
  } catch {
    // Not one of our errors; say what is known.
  }
  if (status === 404) return `${name} answers, but it is not an llm-tui supervisor (404).`;
  return `${name} answered with status ${status}.`;
}

function withSlash(url: string): string {
  return url.endsWith('/') ? url : `${url}/`;
}
