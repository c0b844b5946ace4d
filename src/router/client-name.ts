import type { Socket } from 'node:net';

type ClientSocket = Pick<Socket, 'remoteAddress' | 'remotePort' | 'destroyed'>;

/** How a client is called where requests are listed: by its address and port; on the unix socket it has neither. */
export function clientName({ remoteAddress, remotePort, destroyed }: ClientSocket): string {
  if (remoteAddress === undefined) return destroyed ? 'gone' : 'unix socket';
  // On a listener for both families IPv4 comes dressed up.
  const address = remoteAddress.replace(/^::ffff:(?=[\d.]+$)/u, '');
  return address.includes(':') ? `[${address}]:${remotePort ?? 0}` : `${address}:${remotePort ?? 0}`;
}
