import type { IncomingMessage } from 'node:http';
import type { Reply } from './reply.js';

/** A comment now and then keeps proxies from closing a silent stream, and finds clients that are gone. */
const PING_MILLIS = 30_000;

/** A client that does not read is let go before it costs memory. */
const MAX_BACKLOG_BYTES = 16 * 1024 * 1024;

/** An open text/event-stream. */
export interface EventStream {
  /** Sends one event; `event` is left out where null. */
  send(event: string | null, data: unknown): void;
  /** Calls back once, when either side has ended it. */
  onClose(listener: () => void): void;
  end(): void;
}

export function openEventStream(request: IncomingMessage, response: Reply): EventStream {
  response.begin(200, ['Content-Type', 'text/event-stream', 'Cache-Control', 'no-cache']);
  response.flushHeaders();
  const write = (text: string): void => {
    if (response.destroyed || response.writableEnded) return;
    response.write(text);
    if (response.writableLength > MAX_BACKLOG_BYTES) response.destroy();
  };
  const ping = setInterval(() => write(':\n\n'), PING_MILLIS);
  response.once('close', () => clearInterval(ping));
  request.socket.setNoDelay(true);
  return {
    send: (event, data) => write(`${event === null ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`),
    onClose: (listener) => void response.once('close', listener),
    end: () => response.end(),
  };
}
