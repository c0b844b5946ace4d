/** POST routes of llama-server that are sent on to the child of the model that the body names. */
const USES: ReadonlySet<string> = new Set([
  '/v1/chat/completions',
  '/v1/chat/completions/control',
  '/v1/chat/completions/input_tokens',
  '/chat/completions',
  '/v1/completions',
  '/completion',
  '/completions',
  '/infill',
  '/v1/responses',
  '/v1/responses/input_tokens',
  '/responses',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/embeddings',
  '/embedding',
  '/embeddings',
  '/v1/rerank',
  '/v1/reranking',
  '/rerank',
  '/reranking',
  '/v1/audio/transcriptions',
  '/tokenize',
  '/detokenize',
  '/apply-template',
  '/lora-adapters',
  '/props',
]);

/** GET routes about one model, named by `?model=`. They never load or wake it. */
const READS: ReadonlySet<string> = new Set(['/props', '/metrics', '/slots', '/lora-adapters']);

/** Whether a request goes to a child, and whether it counts as a use of the model; null: it does not. */
export function forwardedRoute(method: string, pathname: string): 'use' | 'read' | null {
  if (method === 'POST' && (USES.has(pathname) || /^\/slots\/\d+$/u.test(pathname))) return 'use';
  if (method === 'GET' && READS.has(pathname)) return 'read';
  return null;
}

/** Routes that the router answers itself. */
const OWN: Readonly<Record<string, string>> = {
  '/health': 'GET',
  '/v1/health': 'GET',
  '/models': 'GET',
  '/v1/models': 'GET',
  '/models/sse': 'GET',
  '/models/load': 'POST',
  '/models/unload': 'POST',
};

/** The methods that a path takes, for a client that has used another; none: there is no such path. */
export function methodsOf(pathname: string): readonly string[] {
  const own = OWN[pathname];
  const methods = [own, USES.has(pathname) ? 'POST' : undefined, READS.has(pathname) ? 'GET' : undefined];
  return [...new Set(methods.filter((method) => method !== undefined))];
}
