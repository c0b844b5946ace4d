import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Exchange } from './exchange.js';

/** By extension; what is not here is bytes, which no browser runs. */
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.ico': 'image/x-icon',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.ttf': 'font/ttf',
  '.wasm': 'application/wasm',
};

/**
 * Serves the files of a directory (`--path`): a page, as it is. A directory stands for its `index.html`. Clients may keep
 * what they have, but ask whether it is still so. Returns false where there is no such file; nothing is sent then.
 * @param path of the request, without the prefix, not decoded
 */
export async function serveFile(root: string, path: string, exchange: Exchange): Promise<boolean> {
  const inside = decodedPath(path);
  if (inside === null) return false;
  const named = join(root, inside);
  const found = await stat(named).catch(() => null);
  if (found?.isDirectory() === true && !inside.endsWith('/')) return redirect(exchange, path);
  const file = found?.isDirectory() === true ? join(named, 'index.html') : named;
  const stats = file === named ? found : await stat(file).catch(() => null);
  if (stats?.isFile() !== true) return false;
  const tag = `W/"${Math.floor(stats.mtimeMs).toString(16)}-${stats.size.toString(16)}"`;
  const kept = ['ETag', tag, 'Last-Modified', stats.mtime.toUTCString(), 'Cache-Control', 'no-cache'];
  const { request, response } = exchange;
  if (isKnown(request.headers, tag, stats.mtimeMs)) {
    response.begin(304, kept);
    response.end();
    return true;
  }
  const type = TYPES[extname(file).toLowerCase()] ?? 'application/octet-stream';
  const about = ['Content-Type', type, 'X-Content-Type-Options', 'nosniff', 'Content-Length', String(stats.size)];
  response.begin(200, [...about, ...kept]);
  if (exchange.method === 'HEAD') response.end();
  // A file that grows meanwhile is cut where it ended: more than was promised would belong to the next answer.
  else if (stats.size === 0) response.end();
  else await pipeline(createReadStream(file, { end: stats.size - 1 }), response).catch(() => response.destroy());
  return true;
}

/** Null for what leads out of the directory, or is no name of a file. */
function decodedPath(path: string): string | null {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return null;
  }
  const parts = decoded.split(/[/\\]/u);
  // Files that begin with a dot were not put there for others.
  const leadsOut = parts.some((part) => part.startsWith('.')) || decoded.includes('\0') || decoded.includes(':');
  return leadsOut ? null : decoded;
}

function redirect({ prefix, search, response }: Exchange, path: string): true {
  const query = search === '' ? '' : `?${search}`;
  response.begin(301, ['Location', `${prefix}${path.replace(/^\/+/u, '/')}/${query}`, 'Content-Length', '0']);
  response.end();
  return true;
}

function isKnown(headers: Exchange['request']['headers'], tag: string, modifiedAt: number): boolean {
  const known = headers['if-none-match'];
  if (known !== undefined) return known.split(',').some((one) => one.trim() === tag || one.trim() === '*');
  const since = Date.parse(headers['if-modified-since'] ?? '');
  // The header has whole seconds.
  return Number.isFinite(since) && Math.floor(modifiedAt / 1000) * 1000 <= since;
}
