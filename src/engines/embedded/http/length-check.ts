import type { Service } from '../service.js';
import { HttpError } from './http-error.js';

/** No vocabulary has tokens that stand for more text than this. */
const LONGEST_TOKEN_BYTES = 256;

/**
 * Throws HttpError 400 for text that cannot fit the context of a request, whatever its tokens are: to find them takes
 * seconds for so much of it, in which nobody else is answered.
 */
export function refuseTooLong({ facts }: Pick<Service, 'facts'>, texts: readonly string[]): void {
  const contextTokens = facts.meta.n_ctx;
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes <= contextTokens * LONGEST_TOKEN_BYTES) return;
  throw new HttpError(
    400,
    `The text has ${bytes} bytes, more than the ${contextTokens} tokens of the context can hold; shorten it, or start the ` +
      'model with a larger --ctx-size.',
    'exceed_context_size_error',
  );
}
