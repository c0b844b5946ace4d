import type { CatalogEntry } from '../catalog/entry.js';
import type { ModelView } from '../client/types.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import type { Handler, RouterContext } from './context.js';
import { listDownloads } from './downloads-api.js';
import type { Exchange } from './exchange.js';
import { readModelName } from './model-name.js';
import { sendError, sendJson, type ApiError } from './respond.js';

/** State words as llama-server's router says them; a stopping model holds its memory still. */
type WireStatus = 'unloaded' | 'loading' | 'loaded' | 'sleeping';

/** Where a model comes from, as llama-server's router says it; it knows no samples. */
const WIRE_SOURCES = { cache: 'cache', directory: 'models_dir', preset: 'preset', sample: 'sample' } as const;

export function wireStatus(model: ModelView): WireStatus {
  switch (model.word) {
    case 'ready':
    case 'stopping':
      return 'loaded';
    case 'loading':
      return 'loading';
    case 'sleeping':
    case 'parked':
      return 'sleeping';
    case 'unloaded':
    case 'failed':
    case 'invalid':
      return 'unloaded';
  }
}

/** `GET /models`: every model, whether it runs or not. */
export const listModels: Handler = async ({ response, query }, { supervisor }) => {
  // As with llama-server, any value but none asks for it.
  if ((query.get('reload') ?? '') !== '') await supervisor.reloadCatalog();
  const { models } = supervisor.snapshot();
  const data = models.flatMap((model) => {
    const entry = supervisor.entry(model.id);
    return entry === null ? [] : [describe(supervisor, entry, model)];
  });
  sendJson(response, 200, { object: 'list', data: [...data, ...listDownloads(supervisor)] });
};

/** `GET /v1/models/ID`, as OpenAI's clients ask for one model. */
export const showModel: Handler = ({ response, path }, { supervisor }) => {
  const name = decode(path.replace(/^(?:\/v1)?\/models\//u, ''));
  const entry = supervisor.resolve(name);
  const model = entry === null ? null : supervisor.view(entry.id);
  if (entry === null || model === null) sendError(response, unknownModel(supervisor, name));
  else sendJson(response, 200, describe(supervisor, entry, model));
};

function decode(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

function describe(supervisor: Supervisor, entry: CatalogEntry, model: ModelView): object {
  const { header } = entry;
  return {
    id: entry.id,
    aliases: entry.aliases,
    tags: entry.tags,
    object: 'model',
    owned_by: 'llamacpp',
    created: Math.floor(supervisor.info.startedAt / 1000),
    path: entry.files?.shards[0] ?? null,
    in_cache: entry.source.kind === 'cache',
    status: statusOf(entry, model),
    architecture: {
      input_modalities: entry.files?.projector == null ? ['text'] : ['text', 'image'],
      output_modalities: ['text'],
    },
    source: WIRE_SOURCES[entry.source.kind],
    can_remove: entry.source.kind === 'cache',
    meta: metaOf(entry, model, supervisor.metaOf(model.id)),
    context_length: model.contextTokens ?? entry.contextTokens ?? header?.trainedContextTokens ?? null,
    memory: supervisor.memoryOf(model.id),
  };
}

/** What a child says of its model once it is up; before, and of an engine that says less, as far as the file's header tells it. */
function metaOf({ header, files }: CatalogEntry, { contextTokens }: ModelView, said: object | null): object | null {
  if (header === null) return said;
  return {
    architecture: header.architecture,
    n_params: header.parameters,
    ftype: header.quantisation,
    n_ctx: contextTokens,
    n_ctx_train: header.trainedContextTokens,
    size: files?.sizeBytes ?? null,
    ...said,
  };
}

function statusOf(entry: CatalogEntry, model: ModelView): object {
  const failure = model.word === 'failed' ? model.lastExit : null;
  return {
    value: wireStatus(model),
    args: entry.args,
    // An empty line ends it, as it ends llama-server's: presets of several models make one file.
    preset: [`[${entry.id}]`, ...entry.options.map(({ name, value }) => `${name} = ${String(value)}`), '\n'].join('\n'),
    ...(failure === null ? {} : { failed: true, exit_code: failure.exitCode, reason: failure.reason }),
    ...(entry.invalid === null ? {} : { failed: true, reason: entry.invalid }),
    ...(model.progress === null ? {} : { progress: model.progress }),
  };
}

/** `POST /models/load`: 404 for an unknown model, 400 where it makes no sense now, as llama-server's router. */
export const loadModel: Handler = (exchange, context) => changeModel(exchange, context, 'load');

/** `POST /models/unload`: the same; a download is given up. */
export const unloadModel: Handler = (exchange, context) => changeModel(exchange, context, 'unload');

async function changeModel(exchange: Exchange, context: RouterContext, action: 'load' | 'unload'): Promise<void> {
  const { supervisor } = context;
  const { response } = exchange;
  const name = await readModelName(exchange, context);
  if (action === 'unload' && typeof name === 'string' && supervisor.downloads.cancel(name)) {
    return sendJson(response, 200, { success: true });
  }
  const entry = typeof name === 'string' ? supervisor.resolve(name) : null;
  if (entry === null) return sendError(response, unknownModel(supervisor, name));
  const result = supervisor.operate(action, entry.id);
  if (result.ok) sendJson(response, 200, { success: true });
  else sendError(response, { status: 400, code: 'invalid_state', message: result.message });
}

/** A 404 that names what the client may have meant. */
export function unknownModel(supervisor: Supervisor, name: unknown): ApiError {
  if (typeof name !== 'string' || name === '') {
    return { status: 400, code: 'model_missing', message: 'the request names no model: give its id in "model"' };
  }
  const nearest = supervisor.nearest(name);
  const hint =
    nearest.length > 0 ? `; the nearest names are ${nearest.join(', ')}` : '; GET /v1/models lists what there is';
  const asked = name.length > 200 ? `${name.slice(0, 200)}…` : name;
  return { status: 404, code: 'model_not_found', message: `model '${asked}' is not in the catalog${hint}` };
}
