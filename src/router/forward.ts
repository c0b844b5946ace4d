import type { Lease } from '../supervisor/lease-desk.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import { clientName } from './client-name.js';
import type { Handler, RouterContext } from './context.js';
import type { Exchange } from './exchange.js';
import { headersForChild } from './headers.js';
import { unknownModel } from './models-api.js';
import { toldRefusal } from './refusal.js';
import { relay, type ChildRequest, type RelayFailure } from './relay.js';
import { ClientGone, readBody } from './request-body.js';
import { requestedModel } from './requested-model.js';
import { errorBody, sendError, type ApiError } from './respond.js';

/** Sends a request to the child of the model that it names, once that has been loaded for it. */
export const useModel: Handler = async (exchange, context) => {
  const { request, response } = exchange;
  const body = await readBody(request, response, { limitBytes: context.maxBodyBytes, held: context.held });
  try {
    exchange.bodyBytes = body.bytes.length;
    const contentType = request.headers['content-type'] ?? '';
    const query = exchange.query;
    const model = modelOf(exchange, context, requestedModel({ contentType, query, body: body.bytes }));
    if (model === null) return;
    const conversation = context.conversations.begin(request.headers['x-conversation-id'], model);
    const signal = (): AbortSignal =>
      conversation === null ? exchange.gone : AbortSignal.any([exchange.gone, conversation.stopped]);
    using lease = await waitFor(exchange, context, model, signal);
    await forward(exchange, context, lease, body.bytes.length > 0 ? body.bytes : null);
  } finally {
    body.release();
  }
};

/** Asks the child of the model in the query about itself. Never loads or wakes it, and is no use of it. */
export const readModel: Handler = async (exchange, context) => {
  const model = modelOf(exchange, context, exchange.query.get('model') || null);
  if (model === null) return;
  using lease = context.supervisor.peek(model);
  await forward(exchange, context, lease, null);
};

/** The catalog's id for a name; null once the client has been told that there is none. */
export function modelOf(exchange: Exchange, { supervisor }: RouterContext, name: string | null): string | null {
  // With one model configured, a request that names none means that one.
  const entries = supervisor.entries();
  const only = name === null && entries.length === 1 ? (entries[0] ?? null) : null;
  const entry = name === null ? only : supervisor.resolve(name);
  if (entry === null) {
    sendError(exchange.response, unknownModel(supervisor, name), exchange.shape);
    return null;
  }
  exchange.model = entry.id;
  return entry.id;
}

/** Waits for the model; the exchange knows afterwards for how long. Throws RequestRefused, or when the client goes. */
export async function waitFor(
  exchange: Exchange,
  context: RouterContext,
  model: string,
  signal: () => AbortSignal,
): Promise<Lease> {
  const { supervisor, metrics } = context;
  // Nobody loads a model for a client that has gone.
  if (exchange.left) throw new ClientGone('the client has gone');
  const since = performance.now();
  try {
    const lease = await supervisor.acquire(model, {
      autoload: mayLoad(exchange, context.autoload),
      kind: exchange.path,
      client: () => clientName(exchange.request.socket),
      signal,
    });
    exchange.schedulerRequest = lease.request;
    return lease;
  } finally {
    exchange.waitMillis = performance.now() - since;
    metrics.waited(exchange.waitMillis);
  }
}

/**
 * Relays to the child of a lease. A child that dies before its first byte is a 502 with the reason of its exit; one that
 * dies in a stream ends it with an error event. A request that the operator cancels meanwhile, or whose model is stopped,
 * ends the same way, as a 503.
 */
export async function forward(
  exchange: Exchange,
  { supervisor, connections }: RouterContext,
  lease: Lease,
  body: Buffer | null,
): Promise<void> {
  lease.onCancel = () => exchange.cutOff();
  const port = lease.cancelled === null ? supervisor.portOf(lease) : null;
  const asked: ChildRequest = {
    path: pathForChild(exchange),
    method: exchange.method,
    headers: headersForChild(exchange.request.rawHeaders),
    body,
  };
  const failure: RelayFailure | null =
    port === null
      ? { error: new Error('its process has gone'), answered: false, eventStream: false }
      : await relay(connections.poolFor(lease.generation, port), asked, exchange, (bytes) =>
          supervisor.forwarded(lease, bytes),
        );
  if (failure === null || exchange.left) return;
  const { cancelled } = lease;
  const told =
    cancelled === null ? await failureOf(supervisor, lease, failure.error) : toldRefusal(cancelled, supervisor);
  tellFailure(exchange, failure, told);
}

async function failureOf(supervisor: Supervisor, lease: Lease, error: Error): Promise<ApiError> {
  const { model } = lease;
  const code = 'code' in error ? error.code : '';
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    const message = `model '${model}' said nothing for as long as --timeout allows`;
    return { status: 504, code: 'model_silent', message };
  }
  if (code === 'UND_ERR_INVALID_ARG') {
    return { status: 400, code: 'bad_request', message: `the request cannot be sent on: ${error.message}` };
  }
  const exit = await supervisor.exitOf(lease);
  const reason = exit?.reason ?? error.message;
  if (exit?.exitClass === 'stopped') {
    const message = `model '${model}' was stopped before it had answered`;
    return { status: 503, code: 'model_stopped', message };
  }
  return { status: 502, code: 'model_died', message: `model '${model}' ended before it had answered: ${reason}` };
}

function tellFailure({ response, shape }: Exchange, { eventStream }: RelayFailure, error: ApiError): void {
  if (!response.headersSent) {
    sendError(response, error, shape);
    return;
  }
  if (eventStream && !response.destroyed) {
    const event = shape === 'anthropic' ? 'event: error\n' : '';
    response.end(`${event}data: ${JSON.stringify(errorBody(error, shape))}\n\n`);
    return;
  }
  // A reply that is cut short must not look complete.
  response.destroy();
}

/** `autoload` is for the router; a child knows nothing of it. The rest of the query stays as it was written. */
export function pathForChild({ path, search }: Exchange): string {
  if (search === '') return path;
  const rest = search.split('&').filter((part) => part !== '' && !/^autoload(?:=|$)/u.test(part));
  return rest.length > 0 ? `${path}?${rest.join('&')}` : path;
}

function mayLoad(exchange: Exchange, otherwise: boolean): boolean {
  if (exchange.search === '') return otherwise;
  const value = exchange.query.get('autoload');
  // An empty value is none, as in llama-server.
  return value === null || value === '' ? otherwise : value === 'true' || value === '1';
}
