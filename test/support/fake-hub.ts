import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a file is sent. */
export interface Behaviour {
  /** The connection breaks after so many bytes of each answer; Infinity: never. */
  readonly breakAfter?: number;
  /** How many answers break. */
  readonly breaks?: number;
  /** Always sent from the start, whatever range is asked for. */
  readonly ignoresRanges?: boolean;
  /** Sent instead of what was listed. */
  readonly sends?: Buffer;
  readonly status?: number;
  /** Sent a byte at a time until the client goes. */
  readonly endless?: boolean;
}

/** A hub of one repository, `org/m`, on this machine. */
export interface FakeHub extends AsyncDisposable {
  readonly endpoint: string;
  readonly commit: string;
  /** What was asked for: path, range, key. */
  readonly requests: { readonly path: string; readonly range: string | null; readonly key: string | null }[];
  behave(path: string, behaviour: Behaviour): void;
}

const COMMIT = 'c0ffee'.padEnd(40, '0');

export async function fakeHub(files: Readonly<Record<string, Buffer>>, key: string | null = null): Promise<FakeHub> {
  const requests: FakeHub['requests'] = [];
  const behaviours = new Map<string, Behaviour>();
  const broken = new Map<string, number>();
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://hub');
    const { range = null, authorization = null } = request.headers;
    requests.push({ path: pathname, range, key: authorization });
    if (key !== null && authorization !== `Bearer ${key}`) return send(response, 401, { error: 'no' });
    if (pathname === '/api/models/org/m/revision/HEAD') {
      const info = { _id: '1', id: 'org/m', sha: COMMIT, private: false, gated: false, downloads: 0, likes: 0 };
      return send(response, 200, { ...info, lastModified: '2026-01-01T00:00:00Z' });
    }
    if (pathname === `/api/models/org/m/tree/${COMMIT}`)
      return send(response, 200, Object.entries(files).map(describe));
    const path = /^\/org\/m\/resolve\/[0-9a-f]{40}\/(.+)$/u.exec(pathname)?.[1] ?? '';
    const content = files[decodeURIComponent(path)];
    if (content === undefined) return send(response, 404, { error: 'Repository not found' });
    return sendFile(path, content, request, response);
  });

  function sendFile(path: string, listed: Buffer, request: IncomingMessage, response: ServerResponse): void {
    const behaviour = behaviours.get(path) ?? {};
    const content = behaviour.sends ?? listed;
    if (behaviour.status !== undefined) return send(response, behaviour.status, {});
    const from = behaviour.ignoresRanges ? 0 : Number(/^bytes=(\d+)-$/u.exec(request.headers.range ?? '')?.[1] ?? 0);
    if (from > 0 && from >= content.length) return send(response, 416, {});
    const rest = content.subarray(from);
    const range = { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` };
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length, ...(from > 0 ? range : {}) });
    if (behaviour.endless) {
      response.write(rest.subarray(0, 1));
      return;
    }
    const times = broken.get(path) ?? 0;
    if (behaviour.breakAfter !== undefined && times < (behaviour.breaks ?? 1)) {
      broken.set(path, times + 1);
      response.write(rest.subarray(0, behaviour.breakAfter), () => response.destroy());
      return;
    }
    response.end(rest);
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    commit: COMMIT,
    requests,
    behave: (path, behaviour) => void behaviours.set(path, behaviour),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Models are kept apart from git, with a checksum of their own; everything else is in it. */
function describe([path, content]: readonly [string, Buffer]): object {
  const size = content.length;
  const oid = createHash('sha1').update(`blob ${size}\0`).update(content).digest('hex');
  if (!path.endsWith('.gguf')) return { type: 'file', path, size, oid };
  const lfs = { oid: createHash('sha256').update(content).digest('hex'), size, pointerSize: 130 };
  return { type: 'file', path, size, oid: '0'.repeat(40), lfs };
}
