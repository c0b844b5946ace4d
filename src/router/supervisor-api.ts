import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OperatorAction } from '../client/types.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import { openEventStream } from './event-stream.js';
import { unknownModel } from './models-api.js';
import { parseJsonObject, readBody } from './request-body.js';
import { sendError, sendJson } from './respond.js';

const ACTIONS: ReadonlySet<string> = new Set<OperatorAction>([
  'load',
  'unload',
  'kill',
  'pin',
  'unpin',
  'block',
  'unblock',
  'measure',
]);

/** A command's body names a model and nothing else. */
const MAX_COMMAND_BYTES = 64 * 1024;

/** Screens that came and went, and what they want of the supervisor itself. */
export interface ScreenDesk {
  /** A screen that started this supervisor is connected; the returned function tells that it has gone. */
  ownerConnected(): () => void;
  detach(): void;
  shutdown(): void;
}

/** `/supervisor/…`. `local` is true on the unix socket, which only this user can reach. */
export async function supervisorApi(
  supervisor: Supervisor,
  desk: ScreenDesk,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  local: boolean,
): Promise<void> {
  const verb = url.pathname.slice('/supervisor/'.length);
  const { method } = request;
  if (method === 'GET') {
    if (verb === 'state') return sendJson(response, 200, supervisor.snapshot());
    if (verb === 'events')
      return streamEvents(supervisor, desk, request, response, local && url.searchParams.has('owner'));
    if (verb === 'plan' || verb === 'logs') {
      const name = url.searchParams.get('model');
      const entry = name === null ? null : supervisor.resolve(name);
      if (entry === null) return sendError(response, unknownModel(supervisor, name));
      return sendJson(
        response,
        200,
        verb === 'plan' ? supervisor.preview(entry.id) : { lines: supervisor.logs(entry.id) },
      );
    }
  }
  if (method === 'POST' && ACTIONS.has(verb)) {
    const { model: name } = parseJsonObject(await readBody(request, MAX_COMMAND_BYTES));
    const entry = typeof name === 'string' ? supervisor.resolve(name) : null;
    if (entry === null) return sendError(response, unknownModel(supervisor, name));
    const result = supervisor.operate(verb as OperatorAction, entry.id);
    if (result.ok) return sendJson(response, 200, { success: true });
    return sendError(response, { status: 409, code: 'invalid_state', message: result.message });
  }
  if (method === 'POST' && local && (verb === 'shutdown' || verb === 'detach')) {
    sendJson(response, 200, { success: true });
    if (verb === 'shutdown') desk.shutdown();
    else desk.detach();
    return;
  }
  sendError(response, {
    status: 404,
    code: 'not_found',
    message: `${method ?? ''} ${url.pathname} is not a route of the supervisor`,
  });
}

function streamEvents(
  supervisor: Supervisor,
  desk: ScreenDesk,
  request: IncomingMessage,
  response: ServerResponse,
  owner: boolean,
): void {
  const stream = openEventStream(request, response);
  if (owner) stream.onClose(desk.ownerConnected());
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
      case 'disconnected':
        return;
    }
  });
  stream.onClose(stop);
}
