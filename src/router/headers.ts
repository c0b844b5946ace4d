/** Headers that concern one connection only (RFC 9110, 7.6.1), and never travel on. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** Of a request: what is set anew, and keys, which are the router's own. */
const NOT_TO_CHILDREN: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'host',
  'content-length',
  'expect',
  'trailer',
  'authorization',
  'x-api-key',
]);

/** Of a response: what the router sets itself, whatever the child says. */
const NOT_TO_CLIENTS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-allow-methods',
  'access-control-allow-headers',
]);

/** The request headers that a child gets, as a flat list of names and values, in order and spelled as they came. */
export function headersForChild(raw: readonly string[]): string[] {
  return without(raw, NOT_TO_CHILDREN);
}

/** The response headers that a client gets of its child's. */
export function headersForClient(raw: readonly (string | Buffer)[]): string[] {
  return without(raw, NOT_TO_CLIENTS);
}

/** True when the headers say that a stream of events follows. */
export function isEventStream(flat: readonly string[]): boolean {
  for (let i = 0; i + 1 < flat.length; i += 2) {
    if (flat[i]?.length === 12 && flat[i]?.toLowerCase() === 'content-type') {
      return /^text\/event-stream\b/iu.test(flat[i + 1] ?? '');
    }
  }
  return false;
}

function without(raw: readonly (string | Buffer)[], dropped: ReadonlySet<string>): string[] {
  const named = namedByConnection(raw);
  const kept: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = asText(raw[i]);
    const lower = name.toLowerCase();
    if (!dropped.has(lower) && named?.has(lower) !== true) kept.push(name, asText(raw[i + 1]));
  }
  return kept;
}

function asText(part: string | Buffer | undefined): string {
  return typeof part === 'string' ? part : (part?.toString('latin1') ?? '');
}

/** A Connection header may name more headers that end here; null: it does not. */
function namedByConnection(raw: readonly (string | Buffer)[]): ReadonlySet<string> | null {
  let named: Set<string> | null = null;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]?.length !== 10 || asText(raw[i]).toLowerCase() !== 'connection') continue;
    for (const token of asText(raw[i + 1]).split(',')) (named ??= new Set()).add(token.trim().toLowerCase());
  }
  return named;
}
