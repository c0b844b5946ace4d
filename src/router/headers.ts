/** Headers that concern one connection only (RFC 9110, 7.6.1), and never travel on. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Of a request: what is set anew, and keys, which are the router's own. */
const NOT_TO_CHILDREN = new Set(['host', 'content-length', 'expect', 'authorization', 'x-api-key']);

/** The request headers that a child gets, as a flat list of names and values, in order and spelled as they came. */
export function headersForChild(raw: readonly string[]): string[] {
  return keep(raw, (name) => !NOT_TO_CHILDREN.has(name));
}

/** The response headers that a client gets; what the router sets itself is not sent twice. */
export function headersForClient(raw: readonly string[], alreadySet: readonly string[]): string[] {
  const own = new Set(alreadySet.map((name) => name.toLowerCase()));
  return keep(raw, (name) => !own.has(name));
}

function keep(raw: readonly string[], wanted: (lowerCaseName: string) => boolean): string[] {
  const named = namedByConnection(raw);
  const kept: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    const lower = name.toLowerCase();
    if (!HOP_BY_HOP.has(lower) && !named.has(lower) && wanted(lower)) kept.push(name, raw[i + 1] ?? '');
  }
  return kept;
}

/** A Connection header may name more headers that end here. */
function namedByConnection(raw: readonly string[]): ReadonlySet<string> {
  const named = new Set<string>();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]?.toLowerCase() !== 'connection') continue;
    for (const token of (raw[i + 1] ?? '').split(',')) named.add(token.trim().toLowerCase());
  }
  return named;
}
