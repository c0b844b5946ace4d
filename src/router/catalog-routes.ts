import type { Handler } from './context.js';
import { sendError } from './respond.js';

/** `POST /models` with `{"model"}`: downloads a model from Hugging Face into the cache. */
export const downloadModel: Handler = ({ response }) => sendError(response, notHere('downloads'));

/** `DELETE /models?model=`: removes a model from the cache. */
export const deleteModel: Handler = ({ response }) => sendError(response, notHere('removes'));

function notHere(does: string): { readonly status: 501; readonly code: string; readonly message: string } {
  return {
    status: 501,
    code: 'not_supported',
    message: `this version neither ${does} models nor manages a cache of them`,
  };
}
