import { DownloadError } from '../catalog/hf-cache/hub.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import type { Handler } from './context.js';
import { readModelName } from './model-name.js';
import { unknownModel } from './models-api.js';
import { sendError, sendJson } from './respond.js';
import type { Reply } from './reply.js';

/** `POST /models`: downloads `repo:tag` from the hub; progress comes on `/models/sse`, and unloading it cancels. */
export const downloadModel: Handler = async (exchange, context) => {
  const { supervisor } = context;
  const { response } = exchange;
  const name = await readModelName(exchange, context);
  if (typeof name !== 'string' || name === '') return sendError(response, unknownModel(supervisor, name));
  await answer(response, async () => {
    const model = await supervisor.downloads.start(name, (id) => supervisor.resolve(id) !== null);
    return { success: true, model };
  });
};

/** `DELETE /models?model=`: removes a model from the cache, or gives up its download. A running one is stopped first. */
export const removeModel: Handler = async ({ response, query }, { supervisor }) => {
  const name = query.get('model');
  const id = supervisor.downloads.list().find((one) => one.id === name)?.id;
  const entry = name === null || id !== undefined ? null : supervisor.resolve(name);
  if (id === undefined && entry === null) return sendError(response, unknownModel(supervisor, name));
  if (entry !== null && entry.source.kind !== 'cache') {
    const message = `model '${entry.id}' is not in the cache: remove it where it comes from, ${entry.source.path}`;
    return sendError(response, { status: 400, code: 'not_removable', message });
  }
  await answer(response, async () => {
    if (entry !== null) await supervisor.stopForRemoval(entry.id);
    await supervisor.downloads.remove(entry?.id ?? id ?? '');
    return { success: true };
  });
};

/** Models that are being downloaded, as `GET /models` lists them. */
export function listDownloads(supervisor: Supervisor): readonly object[] {
  const created = Math.floor(supervisor.info.startedAt / 1000);
  return supervisor.downloads.list().map(({ id, progress }) => ({
    id,
    aliases: [],
    tags: [],
    object: 'model',
    owned_by: 'llamacpp',
    created,
    path: null,
    in_cache: false,
    status: { value: 'downloading', args: [], progress },
    architecture: { input_modalities: ['text'], output_modalities: ['text'] },
    source: 'cache',
    can_remove: true,
    meta: null,
    context_length: null,
    memory: null,
  }));
}

async function answer(response: Reply, work: () => Promise<object>): Promise<void> {
  try {
    sendJson(response, 200, await work());
  } catch (error) {
    if (!(error instanceof DownloadError)) throw error;
    const { status, message } = error;
    // What the hub answered us is no word on this request's own credentials.
    const code = status === 401 || status === 403 ? 502 : status;
    sendError(response, { status: code, code: 'download_failed', message });
  }
}
