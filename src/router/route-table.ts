import type { Handler } from './context.js';
import { findConversations, resumeConversation, stopConversation } from './conversation-routes.js';
import { downloadModel, removeModel } from './downloads-api.js';
import { readModel, useModel } from './forward.js';
import { streamModelEvents } from './model-events.js';
import { listModels, loadModel, showModel, unloadModel } from './models-api.js';
import { disabled, health, props } from './own-routes.js';
import { supervisorApi } from './supervisor-routes.js';

type Method = 'GET' | 'POST' | 'DELETE';

/** Routes of llama-server that go to the child of the model that the body names: path, and whether it is also under /v1. */
const USES = [
  ...['/chat/completions', '/chat/completions/input_tokens', '/completions', '/responses', '/responses/input_tokens'],
  ...['/embeddings', '/rerank', '/reranking', '/audio/transcriptions'],
].flatMap((path) => [path, `/v1${path}`]);

/** Those that are under one name only. */
const USES_ONCE = [
  ...['/v1/chat/completions/control', '/completion', '/infill', '/embedding', '/tokenize', '/detokenize'],
  ...['/apply-template', '/lora-adapters', '/props', '/v1/messages', '/v1/messages/count_tokens'],
];

/** About one model, named by `?model=`. */
const READS = ['/metrics', '/slots', '/lora-adapters'];

const EXACT: ReadonlyMap<string, Partial<Record<Method, Handler>>> = table([
  ...[...USES, ...USES_ONCE].map((path) => route('POST', path, useModel)),
  ...READS.map((path) => route('GET', path, readModel)),
  route('GET', '/health', health),
  route('GET', '/v1/health', health),
  route('GET', '/props', (exchange, context) =>
    exchange.query.get('model') ? readModel(exchange, context) : props(exchange, context),
  ),
  route('GET', '/models', listModels),
  route('GET', '/v1/models', listModels),
  route('POST', '/models', downloadModel),
  route('DELETE', '/models', removeModel),
  route('GET', '/models/sse', streamModelEvents),
  route('POST', '/models/load', loadModel),
  route('POST', '/models/unload', unloadModel),
  route('GET', '/v1/stream', resumeConversation),
  route('DELETE', '/v1/stream', stopConversation),
  route('POST', '/v1/streams/lookup', findConversations),
  // Of the tools that llama-server has for its own page, this router has none; it says so as a llama-server without them.
  ...(['GET', 'POST'] as const).flatMap((method) => [
    route(method, '/cors-proxy', disabled),
    route(method, '/tools', disabled),
  ]),
]);

/** Paths with a part that is a name. */
const PATTERNS: readonly (readonly [RegExp, Partial<Record<Method, Handler>>])[] = [
  [/^\/slots\/\d+$/u, { POST: useModel }],
  // A name may have slashes in it.
  [/^(?:\/v1)?\/models\/./u, { GET: showModel }],
];

/** A route's handler, or the methods that its path takes instead; none: there is no such path. */
export function findRoute(method: string, path: string): Handler | readonly string[] {
  if (path.startsWith('/supervisor/')) return supervisorApi;
  const found = EXACT.get(path) ?? PATTERNS.find(([pattern]) => pattern.test(path))?.[1];
  if (found === undefined) return [];
  // Node leaves the body of a reply to HEAD out by itself.
  return found[method === 'HEAD' ? 'GET' : (method as Method)] ?? Object.keys(found);
}

interface Route {
  readonly method: Method;
  readonly path: string;
  readonly handler: Handler;
}

function route(method: Method, path: string, handler: Handler): Route {
  return { method, path, handler };
}

function table(routes: readonly Route[]): ReadonlyMap<string, Partial<Record<Method, Handler>>> {
  const paths = new Map<string, Partial<Record<Method, Handler>>>();
  for (const { method, path, handler } of routes) paths.set(path, { ...paths.get(path), [method]: handler });
  return paths;
}
