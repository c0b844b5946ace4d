import { request as ask } from 'undici';
import type { Lease } from '../supervisor/lease-desk.js';
import { RequestRefused } from '../supervisor/lease-desk.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import type { Handler, RouterContext } from './context.js';
import type { Exchange } from './exchange.js';
import { forward } from './forward.js';
import { parseJsonObject, readBody } from './request-body.js';
import { sendError, sendJson } from './respond.js';

/** A child that does not answer a look-up at once is left out of it (llama-server's router: the same). */
const LOOKUP_MILLIS = 250;
const MAX_LOOKUP_BYTES = 1024 * 1024;

/** `GET /v1/stream?conv_id=…&from=N`: reads on in an answer whose connection was lost. */
export const resumeConversation: Handler = async (exchange, context) => {
  const name = conversationOf(exchange);
  if (name === null) return;
  const lease = ownerOf(context, name);
  if (lease === null || lease === 'not-yet') {
    const error =
      lease === null
        ? { status: 404, code: 'stream_not_found', message: 'the stream is not known, or has expired' }
        : { status: 503, code: 'model_not_loaded', message: 'the model of this stream is loading; try again' };
    return sendError(exchange.response, { ...error, retryAfterSeconds: lease === null ? null : 1 });
  }
  exchange.model = lease.model;
  await forward(exchange, context, lease, null);
};

/** `POST /v1/streams/lookup` with `{"conversation_ids":[…]}`: which of them a child still knows. */
export const findConversations: Handler = async (exchange, context) => {
  const limits = { limitBytes: MAX_LOOKUP_BYTES, held: context.held };
  const body = await readBody(exchange.request, exchange.response, limits);
  const { conversation_ids: asked } = parseJsonObject(body.bytes);
  body.release();
  const names = Array.isArray(asked) ? asked.filter((name) => typeof name === 'string' && name !== '') : [];
  const byGeneration = new Map<number, { readonly lease: Lease; readonly names: string[] }>();
  for (const name of names as string[]) {
    const lease = ownerOf(context, name);
    if (lease === null || lease === 'not-yet') continue;
    const known = byGeneration.get(lease.generation) ?? { lease, names: [] };
    known.names.push(name);
    byGeneration.set(lease.generation, known);
  }
  const found = await Promise.all([...byGeneration.values()].map((each) => lookUp(context.supervisor, each)));
  sendJson(exchange.response, 200, found.flat());
};

/** `DELETE /v1/stream?conv_id=…`: stops an answer, whether it is being written or still waits for its model. */
export const stopConversation: Handler = async (exchange, context) => {
  const name = conversationOf(exchange);
  if (name === null) return;
  const lease = ownerOf(context, name);
  if (lease !== null && lease !== 'not-yet') {
    const path = `/v1/stream?conv_id=${encodeURIComponent(name)}`;
    await askChild(context.supervisor, lease, 'DELETE', path, null);
  }
  context.conversations.end(name);
  exchange.response.begin(204, []);
  exchange.response.end();
};

function conversationOf({ query, response }: Exchange): string | null {
  const name = query.get('conv_id');
  if (name !== null && name !== '') return name;
  sendError(response, { status: 400, code: 'conversation_missing', message: 'name the conversation in ?conv_id=' });
  return null;
}

/** The child that answers a conversation; it is looked at, not used. */
function ownerOf({ supervisor, conversations }: RouterContext, name: string): Lease | 'not-yet' | null {
  const model = conversations.modelOf(name);
  if (model === null) return null;
  try {
    return supervisor.peek(model);
  } catch (error) {
    if (!(error instanceof RequestRefused)) throw error;
    return supervisor.view(model)?.word === 'loading' ? 'not-yet' : null;
  }
}

async function lookUp(
  supervisor: Supervisor,
  { lease, names }: { readonly lease: Lease; readonly names: readonly string[] },
): Promise<readonly unknown[]> {
  const body = JSON.stringify({ conversation_ids: names });
  const reply = await askChild(supervisor, lease, 'POST', '/v1/streams/lookup', body);
  return Array.isArray(reply) ? (reply as unknown[]).filter((each) => typeof each === 'object' && each !== null) : [];
}

/** The JSON of a child's answer; null when it gives none in time. */
async function askChild(
  supervisor: Supervisor,
  lease: Lease,
  method: 'POST' | 'DELETE',
  path: string,
  body: string | null,
): Promise<unknown> {
  const port = supervisor.portOf(lease);
  if (port === null) return null;
  try {
    const signal = AbortSignal.timeout(LOOKUP_MILLIS);
    const headers = body === null ? {} : { 'content-type': 'application/json' };
    const reply = await ask(`http://127.0.0.1:${port}${path}`, { method, body, headers, signal });
    const text = await reply.body.text();
    return reply.statusCode === 200 ? (JSON.parse(text) as unknown) : null;
  } catch {
    return null;
  }
}
