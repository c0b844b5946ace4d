import type { RouterContext } from './context.js';
import type { Exchange } from './exchange.js';
import { parseJsonObject, readBody } from './request-body.js';

/** A command's body names a model and nothing else. */
const MAX_COMMAND_BYTES = 64 * 1024;

/** What a command's body says in `model`: untrusted, of any type. Throws BodyError. */
export async function readModelName({ request, response }: Exchange, { held }: RouterContext): Promise<unknown> {
  const body = await readBody(request, response, { limitBytes: MAX_COMMAND_BYTES, held });
  body.release();
  return parseJsonObject(body.bytes)['model'];
}
