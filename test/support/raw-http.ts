import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A connection on which exactly these bytes are sent, and everything that comes back. */
export interface RawConnection {
  readonly socket: Socket;
  /** All that has come so far, one character a byte. */
  readonly text: () => string;
  /** Resolves once the text matches; rejects when the connection ends before. */
  readonly until: (pattern: RegExp) => Promise<string>;
  /** Resolves to all that came once the other side has closed. */
  readonly closed: () => Promise<string>;
}

/** Connects, and sends what is given, byte for byte. */
export async function sendRaw(url: string, bytes: string | Buffer): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  let text = '';
  let ended = false;
  const watchers = new Set<() => void>();
  const notify = (): void => {
    for (const watcher of [...watchers]) watcher();
  };
  socket.setEncoding('latin1');
  socket.on('data', (piece: string) => {
    text += piece;
    notify();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    ended = true;
    notify();
  });
  socket.write(bytes);
  const when = (done: () => boolean, lost: () => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        if (done()) resolve(text);
        else if (lost()) reject(new Error(`the connection ended after: ${text}`));
        else return;
        watchers.delete(check);
      };
      watchers.add(check);
      check();
    });
  return {
    socket,
    text: () => text,
    until: (pattern) =>
      when(
        () => pattern.test(text),
        () => ended,
      ),
    closed: () =>
      when(
        () => ended,
        () => false,
      ),
  };
}

/** A whole request with a JSON body. */
export function rawPost(path: string, body: string, headers = ''): string {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;
}
