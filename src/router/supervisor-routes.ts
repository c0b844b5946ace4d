import type { OperatorAction } from '../client/types.js';
import type { CatalogEntry } from '../catalog/entry.js';
import type { Handler, RouterContext } from './context.js';
import { openEventStream } from './event-stream.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import type { Exchange } from './exchange.js';
import { followLogs } from './follow-logs.js';
import { readCommand } from './model-name.js';
import { unknownModel } from './models-api.js';
import { reasonAgainstPage } from './page-guard.js';
import { sendError, sendJson, sendText } from './respond.js';

/** Every verb of the operator is a route. */
const ACTIONS: Readonly<Record<OperatorAction, true>> = {
  load: true,
  withdraw: true,
  unload: true,
  kill: true,
  pin: true,
  unpin: true,
  block: true,
  unblock: true,
  measure: true,
  cancel: true,
  park: true,
  wake: true,
};

const READS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['state', ({ response }, { supervisor }) => sendJson(response, 200, supervisor.snapshot())],
  ['events', streamEvents],
  [
    'plan',
    (exchange, context) => {
      const entry = entryInQuery(exchange, context);
      if (entry !== null) sendJson(exchange.response, 200, context.supervisor.preview(entry.id));
    },
  ],
  [
    'logs',
    (exchange, { supervisor, ...context }) => {
      const entry = entryInQuery(exchange, { supervisor, ...context });
      if (entry === null) return;
      const follow = exchange.query.get('follow');
      if (follow === '1' || follow === 'true') followLogs(supervisor, exchange, entry.id);
      else sendJson(exchange.response, 200, { lines: supervisor.logs(entry.id) });
    },
  ],
  ['metrics', async ({ response }, { metrics }) => sendText(response, 200, metrics.contentType, await metrics.text())],
]);

/** `/supervisor/…`, over the network only for programs, not for pages. */
export const supervisorApi: Handler = (exchange, context) => {
  const { method, path, local, request, response } = exchange;
  const verb = path.slice('/supervisor/'.length);
  const reason = local ? null : reasonAgainstPage(request, context.supervisor.info.host);
  if (reason !== null) return sendError(response, reason);
  if (method === 'GET' || method === 'HEAD') {
    const read = READS.get(verb);
    if (read !== undefined) return read(exchange, context);
  }
  if (method === 'POST' && verb === 'reload') return reload(exchange, context);
  if (method === 'POST' && Object.hasOwn(ACTIONS, verb)) return operate(exchange, context, verb as OperatorAction);
  if (method === 'POST' && local && (verb === 'shutdown' || verb === 'detach')) {
    sendJson(response, 200, { success: true });
    if (verb === 'shutdown') context.desk.shutdown();
    else context.desk.detach();
    return;
  }
  sendError(response, {
    status: 404,
    code: 'not_found',
    message: `${method} ${path.slice(0, 100)} is not a route of the supervisor`,
  });
};

async function reload({ response }: Exchange, { supervisor }: RouterContext): Promise<void> {
  sendJson(response, 200, await supervisor.reloadCatalog());
}

async function operate(exchange: Exchange, context: RouterContext, action: OperatorAction): Promise<void> {
  const { supervisor } = context;
  const { response } = exchange;
  const { model: name, request } = await readCommand(exchange, context);
  // Whoever names its model besides means this one still, and not all of that model's.
  if (action === 'cancel' && (typeof request === 'string' || typeof request === 'number')) {
    return cancelOne(exchange, supervisor, String(request));
  }
  const entry = typeof name === 'string' ? supervisor.resolve(name) : null;
  if (entry === null) return sendError(response, unknownModel(supervisor, name));
  const result = supervisor.operate(action, entry.id);
  const unsaved = result.ok && (action === 'pin' || action === 'unpin') ? await supervisor.pinsSaved() : null;
  if (unsaved !== null) return sendError(response, { status: 500, code: 'pins_not_saved', message: unsaved });
  if (result.ok) return sendJson(response, 200, { success: true });
  sendError(response, { status: 409, code: 'invalid_state', message: result.message });
}

/** `{"request": "r17"}`, as decisions and the log of requests call it. */
function cancelOne({ response }: Exchange, supervisor: Supervisor, request: string): void {
  const model = supervisor.modelOfRequest(request);
  const result = model === null ? null : supervisor.operate('cancel', model, request);
  if (result?.ok === true) return sendJson(response, 200, { success: true });
  const asked = request.length > 100 ? `${request.slice(0, 100)}…` : request;
  const message = result?.message ?? `request '${asked}' neither waits nor is being answered`;
  sendError(response, { status: result === null ? 404 : 409, code: 'request_not_found', message });
}

/** The entry that `?model=` names; null once the client has been told that there is none. */
function entryInQuery({ query, response }: Exchange, { supervisor }: RouterContext): CatalogEntry | null {
  const name = query.get('model');
  const entry = name === null ? null : supervisor.resolve(name);
  if (entry === null) sendError(response, unknownModel(supervisor, name));
  return entry;
}

/** The snapshot, then deltas and every decision. `?owner` on the socket: by the screen that started this supervisor. */
function streamEvents(exchange: Exchange, { supervisor, desk }: RouterContext): void {
  const stream = openEventStream(exchange.request, exchange.response);
  if (exchange.local && exchange.query.has('owner')) stream.onClose(desk.ownerConnected());
  const stop = supervisor.subscribe((message) => {
    switch (message.type) {
      case 'snapshot':
        stream.send('snapshot', message.snapshot);
        return;
      case 'delta':
        stream.send('delta', message.delta);
        return;
      case 'decision':
        stream.send('decision', message.decision);
        return;
      // Only of recordings, and of connections.
      case 'position':
      case 'disconnected':
      case 'ended':
        return;
    }
  });
  stream.onClose(stop);
}
