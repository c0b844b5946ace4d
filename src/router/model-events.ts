import type { Delta, ModelView } from '../client/types.js';
import type { Supervisor } from '../supervisor/supervisor.js';
import type { Handler } from './context.js';
import { openEventStream, type EventStream } from './event-stream.js';
import { wireStatus } from './models-api.js';

/** `GET /models/sse`: what happens to models, as llama-server's router tells it. */
export const streamModelEvents: Handler = ({ request, response }, { supervisor }) => {
  const stream = openEventStream(request, response);
  const news = new ModelNews(supervisor, stream);
  const stop = supervisor.subscribe((message) => {
    if (message.type === 'snapshot') news.begin(message.snapshot.models);
    if (message.type === 'delta') news.changed(message.delta);
  });
  const stopEvents = supervisor.onModelEvent((event) => stream.send(null, event));
  stream.onClose(() => {
    stop();
    stopEvents();
  });
};

/** Tells one client what it has not been told yet. */
class ModelNews {
  readonly #supervisor: Supervisor;
  readonly #stream: EventStream;
  /** What was told last of each model: its status, and its memory. */
  readonly #told = new Map<string, { status: string; memory: string }>();

  constructor(supervisor: Supervisor, stream: EventStream) {
    this.#supervisor = supervisor;
    this.#stream = stream;
  }

  /** How things are is not news. */
  begin(models: readonly ModelView[]): void {
    for (const model of models) this.#told.set(model.id, this.#textsOf(model));
  }

  changed({ models = [], modelOrder }: Delta): void {
    if (modelOrder !== undefined) this.#forget(new Set(modelOrder));
    for (const model of models) this.#tell(model);
  }

  #forget(present: ReadonlySet<string>): void {
    for (const model of this.#told.keys()) if (!present.has(model)) this.#told.delete(model);
  }

  #tell(model: ModelView): void {
    const before = this.#told.get(model.id);
    const now = this.#textsOf(model);
    this.#told.set(model.id, now);
    const memory = this.#supervisor.memoryOf(model.id);
    if (before?.status !== now.status) {
      this.#stream.send(null, { model: model.id, event: 'status_change', data: { ...statusOf(model), memory } });
    }
    if (before?.memory !== now.memory) {
      this.#stream.send(null, { model: model.id, event: 'model_memory', data: memory });
    }
  }

  #textsOf(model: ModelView): { status: string; memory: string } {
    return {
      status: JSON.stringify(statusOf(model)),
      memory: JSON.stringify(this.#supervisor.memoryOf(model.id)),
    };
  }
}

function statusOf(model: ModelView): object {
  const status = wireStatus(model);
  const exit = status === 'unloaded' ? model.lastExit : null;
  return {
    status,
    ...(model.progress === null ? {} : { progress: model.progress }),
    ...(exit === null ? {} : { exit_code: exit.exitCode, info: exit.reason }),
  };
}
