import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import type { ServeFlags } from './serve-flags.js';
import { CommandFailed, UsageError } from './usage-error.js';

/** Listens for clients. Throws CommandFailed when somebody else has the port, UsageError for one that cannot be, with one sentence. */
export async function listenAt(server: Server, { host, port, reusePort }: ServeFlags): Promise<void> {
  try {
    server.listen({ host, port, reusePort });
    await once(server, 'listening');
  } catch (cause) {
    const sentence = sayListenError(cause, host, port);
    const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
    throw isTaken ? new CommandFailed(sentence, { cause }) : new UsageError(sentence, { cause });
  }
}

function sayListenError(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use by another program; choose another with --port.`;
    case 'EACCES':
      return `Port ${port} on ${host} may not be used by this user; choose one above 1023 with --port.`;
    case 'ENOTSUP':
      return 'This system cannot share a port (--reuse-port).';
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${host} is not an address of this machine; choose another with --host.`;
    default:
      return `Listening on ${host}:${port} failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The lock says that nobody else serves this state directory, so a socket that is there is a leftover. */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  if (process.platform !== 'win32' && !(await answers(path))) rmSync(path, { force: true });
  const before = process.umask(0o177);
  try {
    server.listen(path);
    await once(server, 'listening');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CommandFailed(`The socket ${path} cannot be opened (${why}); choose another --state-dir.`, { cause });
  } finally {
    process.umask(before);
  }
}

/** Whether anybody listens on the socket, however busy. */
export function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
