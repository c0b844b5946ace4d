import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Lease } from '../supervisor/lease-desk.js';
import { RequestRefused } from '../supervisor/lease-desk.js';
import { clientName } from './client-name.js';
import type { RouterContext } from './context.js';
import { splitTarget, withoutPrefix } from './exchange.js';
import { headersForChild } from './headers.js';
import { unknownModel } from './models-api.js';
import { toldRefusal } from './refusal.js';
import { errorBody, type ApiError } from './respond.js';

/** What a client may send before its model is up. */
const MAX_EARLY_BYTES = 256 * 1024;

/** Once one side has ended, the other has this long. */
const LAST_WORDS_MILLIS = 1_000;

const STATUS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};

/**
 * `GET …?model=` with `Upgrade`: loads the model, then carries bytes both ways, whatever they mean, until one side ends.
 * The model is in use for as long.
 */
export async function upgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  local: boolean,
  context: RouterContext,
): Promise<void> {
  const { supervisor, keys, autoload, metrics } = context;
  socket.on('error', () => socket.destroy());
  const gone = new AbortController();
  const leave = (): void => gone.abort(new Error('the client has gone'));
  socket.once('close', leave);
  try {
    if (!local && !keys.allows(request)) {
      return refuse(socket, { status: 401, code: 'invalid_api_key', message: 'a valid API key is needed' });
    }
    if (!supervisor.isStarted) await supervisor.started;
    const [whole, search] = splitTarget(request.url ?? '');
    const path = withoutPrefix(whole, local ? '' : context.prefix);
    if (path === null) return refuse(socket, { status: 404, code: 'not_found', message: 'this is no route' });
    const query = new URLSearchParams(search);
    const name = query.get('model');
    const entry = name === null ? null : supervisor.resolve(name);
    if (entry === null || path.startsWith('/supervisor/')) return refuse(socket, unknownModel(supervisor, name));
    gone.signal.throwIfAborted();
    const early = keepEarly(socket, head, leave);
    const wanted = query.get('autoload');
    const mayLoad = wanted === null ? autoload : wanted === 'true' || wanted === '1';
    using lease = await supervisor.acquire(entry.id, {
      autoload: mayLoad,
      kind: `${path} (WebSocket)`,
      client: () => clientName(request.socket),
      signal: () => gone.signal,
    });
    metrics.requested(entry.id, 101);
    const target = search === '' ? path : `${path}?${search}`;
    await carry(requestHead(request, target), socket, early(), lease, context);
  } catch (error) {
    if (gone.signal.aborted) return;
    if (error instanceof RequestRefused) refuse(socket, toldRefusal(error, supervisor));
    else refuse(socket, { status: 502, code: 'model_died', message: 'the model ended before it had answered' });
  }
}

/**
 * Reads what comes before there is a child to send it to, within bounds: only who reads notices that the client leaves.
 * The returned function ends that and gives what came.
 */
function keepEarly(socket: Duplex, head: Buffer, leave: () => void): () => Buffer {
  const chunks = [head];
  let bytes = head.length;
  const take = (chunk: Buffer): void => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_EARLY_BYTES) socket.pause();
  };
  socket.on('data', take).once('end', leave);
  return () => {
    socket.pause();
    socket.off('data', take).off('end', leave);
    return Buffer.concat(chunks);
  };
}

/** Bytes both ways until either side has ended. */
function carry(
  requested: Buffer,
  socket: Duplex,
  head: Buffer,
  lease: Lease,
  { supervisor, connections }: RouterContext,
): Promise<void> {
  const port = supervisor.portOf(lease);
  return new Promise((resolve, reject) => {
    if (port === null) {
      reject(new Error(`the process of ${lease.model} has gone`));
      return;
    }
    let answered = false;
    const child: Socket = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true });
    const forget = connections.poolFor(lease.generation, port).keep(child);
    const end = (): void => {
      forget();
      socket.unpipe();
      // A child that reads on after the client's end would otherwise never know.
      child.resetAndDestroy();
      if (answered || socket.destroyed) {
        socket.destroy();
        resolve();
      } else {
        reject(new Error('the child closed the connection'));
      }
    };
    child.once('connect', () => {
      child.write(requested);
      if (head.length > 0) child.write(head);
      socket.pipe(child);
    });
    child.on('data', (chunk: Buffer) => {
      answered = true;
      supervisor.forwarded(lease, chunk.length);
    });
    child.pipe(socket);
    // A protocol of its own has no words for it: the connection ends.
    lease.onCancel = end;
    child.once('error', end).once('close', end);
    socket.once('close', end);
    // A side that has said all is answered by the other, or by us.
    for (const side of [socket, child]) side.once('end', () => setTimeout(end, LAST_WORDS_MILLIS));
  });
}

/** The request as the child gets it: without keys, but with what asks for the upgrade. */
function requestHead(request: IncomingMessage, target: string): Buffer {
  const { method = 'GET', rawHeaders } = request;
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: 127.0.0.1'];
  const headers = headersForChild(rawHeaders);
  for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i] ?? ''}: ${headers[i + 1] ?? ''}`);
  lines.push('Connection: Upgrade', `Upgrade: ${request.headers.upgrade ?? ''}`, '', '');
  return Buffer.from(lines.join('\r\n'), 'latin1');
}

function refuse(socket: Duplex, error: ApiError): void {
  const text = JSON.stringify(errorBody(error, 'openai'));
  const retry = error.retryAfterSeconds == null ? '' : `Retry-After: ${error.retryAfterSeconds}\r\n`;
  const head = `HTTP/1.1 ${error.status} ${STATUS[error.status] ?? 'Error'}\r\nConnection: close\r\n${retry}`;
  const type = `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n`;
  socket.end(`${head}${type}${text}`, () => socket.destroy());
}
