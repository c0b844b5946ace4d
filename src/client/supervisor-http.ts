import { Agent, request, type Dispatcher } from 'undici';

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
  const dispatcher = new Agent({
    // Stopping a model takes as long as it takes.
    bodyTimeout: 0,
    headersTimeout: 0,
    connect: 'url' in target ? { timeout: 10_000 } : { socketPath: target.socketPath, timeout: 10_000 },
  });
  const headers: Record<string, string> =
    'url' in target && target.apiKey !== undefined ? { authorization: `Bearer ${target.apiKey}` } : {};

  async function ask(
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
    stream: { signal?: AbortSignal; bodyTimeout?: number } = {},
  ): Promise<Dispatcher.ResponseData> {
    const reply = await request(new URL(path, base), {
      method,
      dispatcher,
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...stream,
    });
    if (reply.statusCode >= 200 && reply.statusCode < 300) return reply;
    const said = await reply.body.text();
    throw new SupervisorRefusal(refusalSentence(name, reply.statusCode, said), reply.statusCode);
  }

  return {
    name,
    async json(method, path, body) {
      const text = await (await ask(method, path, body)).body.text();
      try {
        return JSON.parse(text) as unknown;
      } catch {
        throw new SupervisorRefusal(`${name} answered /${path} with something that is not JSON: is it an llm-tui?`, 0);
      }
    },
    async stream(path, signal) {
      const reply = await ask('GET', path, undefined, { signal, bodyTimeout: SILENCE_MILLIS });
      reply.body.setEncoding('utf8');
      return reply.body as AsyncIterable<string>;
    },
    close() {
      void dispatcher.destroy();
    },
  };
}

/** A failed request in one sentence. */
export function failureSentence(name: string, error: unknown): string {
  if (error instanceof SupervisorRefusal) return error.message;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  switch (code) {
    case 'ENOENT':
      return `Nothing listens at ${name}: the supervisor has ended or was never started.`;
    case 'ECONNREFUSED':
      return `The supervisor at ${name} does not accept connections.`;
    case 'EACCES':
      return `The socket ${name} belongs to another user.`;
    case 'ECONNRESET':
    case 'UND_ERR_SOCKET':
      return `The connection to ${name} broke off.`;
    case 'UND_ERR_BODY_TIMEOUT':
      return `${name} has been silent for too long.`;
    case 'UND_ERR_CONNECT_TIMEOUT':
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
