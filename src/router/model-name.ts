import type { RouterContext } from './context.js';
import type { Exchange } from './exchange.js';
import { parseJsonObject, readBody } from './request-body.js';

/** A command's body names a model and nothing else. */
const MAX_COMMAND_BYTES = 64 * 1024;

/** What a command's body says: untrusted, every field of any type. Throws BodyError. */
export async function readCommand(
  { request, response }: Exchange,
  { held }: RouterContext,
): Promise<Readonly<Record<string, unknown>>> {
  const body = await readBody(request, response, { limitBytes: MAX_COMMAND_BYTES, held });
  body.release();
  return parseJsonObject(body.bytes);
}

/** What it says in `model`. Throws BodyError. */
export async function readModelName(exchange: Exchange, context: RouterContext): Promise<unknown> {
  return (await readCommand(exchange, context))['model'];
}
