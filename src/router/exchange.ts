import type { IncomingMessage } from 'node:http';
import type { ModelId } from '../scheduler/units.js';
import type { ErrorShape } from './respond.js';
import type { Reply } from './reply.js';

/** What is asked behind the question mark, decoded. */
export type Query = Pick<URLSearchParams, 'get' | 'has'>;

const NO_QUERY: Query = new URLSearchParams();

/** One request and its response, and what becomes known of it on the way. */
export class Exchange {
  /** Milliseconds on a clock that never jumps. */
  readonly startedAt: number = performance.now();
  readonly number: number;
  readonly request: IncomingMessage;
  readonly response: Reply;
  /** True on the unix socket, which only this user can reach. */
  readonly local: boolean;
  readonly method: string;
  /** As it came, without the prefix, not decoded; empty when the request's target is no path. */
  readonly path: string;
  /** What stands before every path of this server (`--api-prefix`); empty: nothing. */
  readonly prefix: string;
  /** False when the prefix is not there; the path is whole then. */
  readonly isInside: boolean;
  /** Behind the question mark, as it came. */
  readonly search: string;

  /** Set by the handlers, for log and metrics. */
  model: ModelId | null = null;
  /** How the scheduler calls it; decisions name it so. */
  schedulerRequest: string | null = null;
  /** How long it waited for its model; null when it never had to ask for one. */
  waitMillis: number | null = null;
  bodyBytes = 0;

  #query: Query | null = null;
  #gone: AbortController | null = null;
  #left = false;
  #isCutOff = false;

  constructor(number: number, request: IncomingMessage, response: Reply, local: boolean, prefix: string) {
    this.number = number;
    this.request = request;
    this.response = response;
    this.local = local;
    this.method = request.method ?? 'GET';
    this.prefix = prefix;
    const [path, search] = splitTarget(request.url ?? '');
    const inside = withoutPrefix(path, prefix);
    this.isInside = inside !== null;
    this.path = inside ?? path;
    this.search = search;
  }

  get query(): Query {
    this.#query ??= this.search === '' ? NO_QUERY : new URLSearchParams(this.search);
    return this.#query;
  }

  /** Which family of clients asked. */
  get shape(): ErrorShape {
    return this.path.startsWith('/v1/messages') ? 'anthropic' : 'openai';
  }

  /** Aborts when the connection ends before the response was complete; made only for those who ask. */
  get gone(): AbortSignal {
    if (this.#gone === null) {
      this.#gone = new AbortController();
      if (this.#left) this.#gone.abort(clientGone());
    }
    return this.#gone.signal;
  }

  /** True when the connection has ended before the response was complete. */
  get left(): boolean {
    return this.#left;
  }

  /** True once nothing more of the answer is wanted: the client has gone, or the operator has cancelled the request. */
  get isOver(): boolean {
    return this.#left || this.#isCutOff;
  }

  /** What is to be done at once when nothing more is wanted; null: nothing. One at a time. */
  onLeave: (() => void) | null = null;

  /** The operator has cancelled the request; its client is still there, to be told. */
  cutOff(): void {
    if (this.#isCutOff) return;
    this.#isCutOff = true;
    this.onLeave?.();
  }

  /** The connection has ended before the response was complete. */
  leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#gone?.abort(clientGone());
    this.onLeave?.();
  }
}

function clientGone(): Error {
  return new Error('the client has gone');
}

/** The rest of a path behind a prefix; null when it begins with something else. */
export function withoutPrefix(path: string, prefix: string): string | null {
  if (prefix === '') return path;
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : null;
}

/** Path and query of a request's target. A proxy's form, with the host in it, is taken as well (RFC 9112, 3.2.2). */
export function splitTarget(target: string): readonly [path: string, search: string] {
  const at = target.indexOf('?');
  const path = at < 0 ? target : target.slice(0, at);
  const search = at < 0 ? '' : target.slice(at + 1);
  if (path.startsWith('/')) return [path, search];
  const rest = /^https?:\/\/[^/?]*(\/.*)?$/iu.exec(path);
  return rest === null ? ['', ''] : [rest[1] ?? '/', search];
}
