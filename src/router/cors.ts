import type { IncomingMessage } from 'node:http';

/** Which pages may call, as llama-server's `--cors-*` say it. */
export interface CorsPolicy {
  /** `*`, `localhost`, or what the header is to say. */
  readonly origins: string;
  readonly methods: string;
  readonly headers: string;
  readonly credentials: boolean;
}

/** llama-server's defaults: any page may call; keys are bearer keys, which a browser never adds by itself. */
export const DEFAULT_CORS: CorsPolicy = {
  origins: '*',
  methods: 'GET, POST, DELETE, OPTIONS',
  headers: '*',
  credentials: true,
};

/** Headers of a response to a page, as a flat list; empty where the page is not to read it. */
export function corsHeaders(policy: CorsPolicy, { headers: { origin } }: IncomingMessage): string[] {
  const allowed = allowedOrigin(policy, origin);
  if (allowed === null) return [];
  return allowed === '*' ? [ALLOW_ORIGIN, allowed] : [ALLOW_ORIGIN, allowed, 'Vary', 'Origin'];
}

const ALLOW_ORIGIN = 'Access-Control-Allow-Origin';

/** What llama-server adds to that on OPTIONS. */
export function preflightHeaders({ methods, headers, credentials }: CorsPolicy, request: IncomingMessage): string[] {
  // With credentials a browser takes `*` for the name of a header, so those that it asks for are named.
  const asked = request.headers['access-control-request-headers'];
  return [
    'Access-Control-Allow-Credentials',
    String(credentials),
    'Access-Control-Allow-Methods',
    methods,
    'Access-Control-Allow-Headers',
    headers === '*' ? (asked ?? headers) : headers,
    'Access-Control-Max-Age',
    '86400',
  ];
}

function allowedOrigin({ origins, credentials }: CorsPolicy, origin: string | undefined): string | null {
  if (origins === '*' && credentials) return origin ?? '*';
  if (origins !== 'localhost') return origins;
  return origin !== undefined && isLocalOrigin(origin) ? origin : null;
}

function isLocalOrigin(origin: string): boolean {
  const name = URL.parse(origin)?.hostname;
  return name === 'localhost' || name === '127.0.0.1' || name === '[::1]';
}
