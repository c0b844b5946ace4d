export type ErrorType =
  | 'invalid_request_error'
  | 'not_found_error'
  | 'not_supported_error'
  | 'exceed_context_size_error'
  | 'unavailable_error'
  | 'server_error';

/** What a client is told instead of an answer, in OpenAI's shape. The message is one sentence. */
export class HttpError extends Error {
  override readonly name = 'HttpError';

  constructor(
    readonly status: number,
    message: string,
    readonly type: ErrorType = 'invalid_request_error',
  ) {
    super(message);
  }
}

/** The body of an error answer, and of the last event of a stream that failed. */
export function errorBody(error: unknown): {
  error: { code: number; message: string; type: ErrorType; param: null };
} {
  if (error instanceof HttpError) {
    return { error: { code: error.status, message: error.message, type: error.type, param: null } };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { error: { code: 500, message: `The model failed: ${message}`, type: 'server_error', param: null } };
}
