import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { ApiError } from './respond.js';

/**
 * What a web page could otherwise do to the supervisor of whoever looks at it. A page may post a form anywhere, but not
 * JSON; and a name that its owner points at this machine (DNS rebinding) shows in the Host header.
 * @param listensOn what `--host` was given
 */
export function reasonAgainstPage(request: IncomingMessage, listensOn: string): ApiError | null {
  const name = hostName(request.headers.host ?? '');
  if (!isOwnName(name, listensOn)) {
    const message = `'${name}' is not a name of this machine: use its address, or localhost, or start with --host`;
    return { status: 403, code: 'unknown_host', message };
  }
  if (request.method === 'POST' && !/^application\/json\s*(?:;|$)/iu.test(request.headers['content-type'] ?? '')) {
    return { status: 415, code: 'not_json', message: 'commands are taken with content-type: application/json only' };
  }
  return null;
}

/** Without the port, and without the brackets of an IPv6 address. */
function hostName(host: string): string {
  const inBrackets = /^\[([^\]]*)\]/u.exec(host)?.[1];
  return (inBrackets ?? host.replace(/:\d*$/u, '')).toLowerCase().replace(/\.$/u, '');
}

function isOwnName(name: string, listensOn: string): boolean {
  if (isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost')) return true;
  return name === listensOn.toLowerCase() || name === hostname().toLowerCase();
}
