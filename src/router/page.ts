import type { RouterContext } from './context.js';
import type { Exchange } from './exchange.js';
import { forward } from './forward.js';
import { sendError } from './respond.js';
import { serveFile } from './static-files.js';

/** What llama-server's page is made of, in the builds of the last years. Anything else is no file of it. */
const OF_ITS_PAGE =
  /^\/(?:(?:index|loading)\.html|(?:bundle|index|completion|json-schema-to-grammar|prompt-formats|registerSW|sw|workbox-[\w-]+)\.m?js|(?:bundle|style|index)\.css|theme-[\w-]+\.css|[\w-]*(?:favicon|icon|logo)[\w-]*\.(?:ico|png|svg)|manifest\.webmanifest|build\.json|(?:_app|assets|recommended-mcp)\/[\w./-]+)?$/u;

/** True for what could be a part of a page: it is there to be seen by everybody, and needs no key. */
export function isOfPage({ method, path }: Exchange, { pageDirectory }: RouterContext): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  return pageDirectory !== null || OF_ITS_PAGE.test(path);
}

/**
 * A page: a file of `--path`; else llama-server's own, from any model that runs, since builds carry it inside. Looking at
 * a page loads no model.
 */
export async function answerPage(exchange: Exchange, context: RouterContext): Promise<void> {
  const { supervisor, pageDirectory } = context;
  const { path, method, response, shape } = exchange;
  if (pageDirectory !== null) {
    if (await serveFile(pageDirectory, path, exchange)) return;
    const message = `${method} ${path.slice(0, 100)} is not a route of this router, nor a file of --path`;
    return sendError(response, { status: 404, code: 'not_found', message }, shape);
  }
  const model = supervisor.anyRunning();
  if (model === null) {
    const message =
      'a page comes from a model that runs, and none does: load one first, or start with --path DIRECTORY';
    return sendError(response, { status: 404, code: 'no_page', message }, shape);
  }
  using lease = supervisor.peek(model);
  await forward(exchange, context, lease, null);
}
