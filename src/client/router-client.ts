import { pause } from './pause.js';
import { routerSnapshot, type RouterFacts } from './router-snapshot.js';
import { createSseParser } from './sse-parser.js';
import { refusalOf, STOCK_ROUTER } from './sources.js';
import { failureSentence, supervisorHttp, type SupervisorHttp, type SupervisorTarget } from './supervisor-http.js';
import type { ActionResult, ClientMessage, Millis, ModelId, SupervisorClient } from './types.js';

/** A router tells what becomes of its models as it happens; should that fail, this often it is asked. */
const ASK_MILLIS: Millis = 5_000;
/** Several events of one moment are one look. */
const GATHER_MILLIS: Millis = 200;

/** A client of a llama-server router: it shows its models, loads and unloads them, and knows of nothing else. */
export function connectRouter(target: Extract<SupervisorTarget, { url: string }>): SupervisorClient {
  const http = supervisorHttp(target);
  const closing = new AbortController();
  const cannot = (wish: string): string => refusalOf(STOCK_ROUTER, wish);

  async function command(path: string, model: ModelId): Promise<ActionResult> {
    try {
      await http.json('POST', path, { model });
      return { ok: true };
    } catch (error) {
      return { ok: false, message: failureSentence(http.name, error) };
    }
  }

  return {
    source: STOCK_ROUTER,
    recording: null,
    subscribe(listener) {
      const ending = new AbortController();
      void watch(http, target.url, listener, AbortSignal.any([ending.signal, closing.signal]));
      return () => ending.abort();
    },
    act(action, model) {
      if (action === 'load' || action === 'unload') return command(`models/${action}`, model);
      return Promise.resolve({ ok: false, message: cannot(action) });
    },
    async reload() {
      try {
        const before = idsOf(await http.json('GET', 'models'));
        const after = idsOf(await http.json('GET', 'models?reload=1'));
        const added = after.filter((id) => !before.includes(id));
        const removed = before.filter((id) => !after.includes(id));
        return { ok: true, report: { added, changed: [], removed, errors: [] } };
      } catch (error) {
        return { ok: false, message: failureSentence(http.name, error) };
      }
    },
    plan: () => Promise.reject(new Error(cannot('plan'))),
    logs: () => Promise.reject(new Error(cannot('logs'))),
    followLog(_model, listener) {
      listener({ type: 'failed', message: cannot('logs') });
      return () => undefined;
    },
    stopAll: () => Promise.resolve({ ok: false, message: cannot('stop') }),
    detach: () => Promise.resolve({ ok: true }),
    close() {
      closing.abort();
      http.close();
    },
  };
}

/** Looks at the models, and again whenever the router says that something has changed. */
async function watch(
  http: SupervisorHttp,
  url: string,
  listener: (message: ClientMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  const isOver = (): boolean => signal.aborted;
  let facts: RouterFacts | null = null;
  let said: string | null = null;
  let bell = Promise.withResolvers<undefined>();
  const ring = (): void => bell.resolve(undefined);
  void ringOnEvents(http, ring, signal);
  while (!isOver()) {
    try {
      facts ??= { url, props: await http.json('GET', 'props') };
      const snapshot = routerSnapshot(facts, await http.json('GET', 'models'), Date.now());
      if (isOver()) return;
      said = null;
      listener({ type: 'snapshot', snapshot });
    } catch (error) {
      if (isOver()) return;
      const reason = failureSentence(http.name, error);
      if (reason !== said) listener({ type: 'disconnected', reason });
      said = reason;
    }
    await Promise.race([bell.promise, pause(ASK_MILLIS, signal)]);
    bell = Promise.withResolvers();
    await pause(GATHER_MILLIS, signal);
  }
}

/** A router of an older build has no events; then it is only asked. */
async function ringOnEvents(http: SupervisorHttp, ring: () => void, signal: AbortSignal): Promise<void> {
  const isOver = (): boolean => signal.aborted;
  while (!isOver()) {
    try {
      const parser = createSseParser();
      for await (const piece of await http.stream('models/sse', signal)) if (parser.push(piece).length > 0) ring();
    } catch {
      // It is looked at all the same, only less often.
    }
    // Whatever ended it is worth a look: the router may have gone.
    ring();
    await pause(ASK_MILLIS, signal);
  }
}

function idsOf(models: unknown): readonly string[] {
  return routerSnapshot({ url: 'http://unused', props: {} }, models, 0).models.map(({ id }) => id);
}
