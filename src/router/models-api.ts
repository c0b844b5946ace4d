import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CatalogEntry } from '../catalog/entry.js';
import type { ModelView } from '../client/types.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import { openEventStream } from './event-stream.js';
import { sendError, sendJson, type ApiError } from './respond.js';

/** State words as llama-server's router says them; a stopping model holds its memory still. */
type WireStatus = 'unloaded' | 'loading' | 'loaded' | 'sleeping';

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
export function listModels(supervisor: Supervisor, response: ServerResponse): void {
  const { models } = supervisor.snapshot();
  const created = Math.floor(supervisor.info.startedAt / 1000);
  const data = models.flatMap((model) => {
    const entry = supervisor.entry(model.id);
    return entry === null ? [] : [describe(supervisor, entry, model, created)];
  });
  sendJson(response, 200, { object: 'list', data });
}

/** `GET /v1/models/ID`, as OpenAI's clients ask for one model; the id comes as in a URL. */
export function showModel(supervisor: Supervisor, response: ServerResponse, encoded: string): void {
  const name = decode(encoded);
  const entry = supervisor.resolve(name);
  const model = supervisor.snapshot().models.find(({ id }) => id === entry?.id);
  if (entry === null || model === undefined) {
    sendError(response, unknownModel(supervisor, name));
    return;
  }
  sendJson(response, 200, describe(supervisor, entry, model, Math.floor(supervisor.info.startedAt / 1000)));
}

function decode(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

function describe(supervisor: Supervisor, entry: CatalogEntry, model: ModelView, created: number): object {
  const { header } = entry;
  return {
    id: entry.id,
    aliases: entry.aliases,
    tags: entry.tags,
    object: 'model',
    owned_by: 'llm-tui',
    created,
    path: entry.files?.shards[0] ?? null,
    in_cache: false,
    status: statusOf(entry, model),
    architecture: {
      input_modalities: entry.files?.projector == null ? ['text'] : ['text', 'image'],
      output_modalities: ['text'],
    },
    source: entry.source.kind,
    can_remove: false,
    meta:
      header === null
        ? null
        : {
            architecture: header.architecture,
            n_params: header.parameters,
            quantization: header.quantisation,
            n_ctx_train: header.trainedContextTokens,
            size: entry.files?.sizeBytes ?? null,
          },
    context_length: model.contextTokens ?? entry.contextTokens ?? header?.trainedContextTokens ?? null,
    memory: supervisor.memoryOf(model.id),
  };
}

function statusOf(entry: CatalogEntry, model: ModelView): object {
  const failure = model.word === 'failed' ? model.lastExit : null;
  return {
    value: wireStatus(model),
    args: entry.args,
    preset: [`[${entry.id}]`, ...entry.options.map(({ name, value }) => `${name} = ${String(value)}`)].join('\n'),
    ...(failure === null ? {} : { failed: true, exit_code: failure.exitCode, reason: failure.reason }),
    ...(entry.invalid === null ? {} : { failed: true, reason: entry.invalid }),
    ...(model.progress === null ? {} : { progress: model.progress }),
  };
}

/** `POST /models/load` and `/models/unload`: 404 for an unknown model, 400 where it makes no sense now. */
export function changeModel(
  supervisor: Supervisor,
  response: ServerResponse,
  action: 'load' | 'unload',
  name: unknown,
): void {
  const entry = typeof name === 'string' ? supervisor.resolve(name) : null;
  if (entry === null) {
    sendError(response, unknownModel(supervisor, name));
    return;
  }
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
  return { status: 404, code: 'model_not_found', message: `model '${name}' is not in the catalog${hint}` };
}

/** `GET /models/sse`: what happens to models, as llama-server's router tells it. */
export function streamModelEvents(supervisor: Supervisor, request: IncomingMessage, response: ServerResponse): void {
  const stream = openEventStream(request, response);
  const last = new Map<string, string>();
  const isNews = (model: string, event: string, data: unknown): boolean => {
    const text = JSON.stringify(data);
    const key = JSON.stringify([model, event]);
    if (last.get(key) === text) return false;
    last.set(key, text);
    return true;
  };
  const tell = (models: readonly ModelView[], quietly: boolean): void => {
    for (const model of models) {
      const data = {
        status: wireStatus(model),
        ...(model.progress === null ? {} : { progress: model.progress }),
        ...(model.lastExit === null ? {} : { exit_code: model.lastExit.exitCode, info: model.lastExit.reason }),
      };
      const memory = supervisor.memoryOf(model.id);
      const statusIsNews = isNews(model.id, 'status_change', data);
      const memoryIsNews = isNews(model.id, 'model_memory', memory);
      if (quietly) continue;
      if (statusIsNews) stream.send(null, { model: model.id, event: 'status_change', data: { ...data, memory } });
      if (memoryIsNews) stream.send(null, { model: model.id, event: 'model_memory', data: memory });
    }
  };
  const stop = supervisor.subscribe((message) => {
    if (message.type === 'snapshot') tell(message.snapshot.models, true);
    if (message.type === 'delta' && message.delta.models) tell(message.delta.models, false);
  });
  stream.onClose(stop);
}
