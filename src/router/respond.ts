import type { Reply } from './reply.js';

/** What went wrong, in the words of the API's clients. */
export interface ApiError {
  readonly status: number;
  /** For programs, e.g. `model_not_found`. */
  readonly code: string;
  readonly message: string;
  readonly retryAfterSeconds?: number | null;
  /** The decision record behind a refusal, so that a client can see the numbers. */
  readonly decision?: unknown;
}

/** Which family of clients asked: they expect errors in different shapes. */
export type ErrorShape = 'openai' | 'anthropic';

export function sendJson(response: Reply, status: number, body: unknown): void {
  sendText(response, status, 'application/json; charset=utf-8', JSON.stringify(body));
}

export function sendText(response: Reply, status: number, contentType: string, text: string): void {
  if (response.headersSent || response.destroyed) return;
  response.begin(status, ['Content-Type', contentType, 'Content-Length', String(Buffer.byteLength(text))]);
  response.end(text);
}

export function sendError(response: Reply, error: ApiError, shape: ErrorShape = 'openai'): void {
  if (response.headersSent || response.destroyed) return;
  if (error.retryAfterSeconds != null) response.setHeader('Retry-After', String(error.retryAfterSeconds));
  sendJson(response, error.status, errorBody(error, shape));
}

/** OpenAI: `{"error":{code,message,type}}`, as llama-server's; Anthropic: `{"type":"error","error":{…}}`. */
export function errorBody(error: ApiError, shape: ErrorShape): object {
  const { status, code, message, decision } = error;
  const extra = decision == null ? {} : { decision };
  if (shape === 'anthropic') return { type: 'error', error: { type: anthropicType(status), message, ...extra } };
  return { error: { code, message, type: openAiType(status), ...extra } };
}

function openAiType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 404) return 'not_found_error';
  if (status === 501) return 'not_supported_error';
  if (status === 503) return 'unavailable_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

function anthropicType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 404) return 'not_found_error';
  if (status === 413) return 'request_too_large';
  if (status === 503) return 'overloaded_error';
  return status < 500 ? 'invalid_request_error' : 'api_error';
}
