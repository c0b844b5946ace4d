import { createSseParser } from './sse-parser.js';
import { failureSentence, supervisorHttp, type SupervisorHttp, type SupervisorTarget } from './supervisor-http.js';
import { identityOf, isSameSupervisor, type SupervisorIdentity } from './supervisor-identity.js';
import { followLog } from './follow-log.js';
import { pause } from './pause.js';
import { REMOTE_SUPERVISOR, SUPERVISOR } from './sources.js';
import type {
  ActionResult,
  ClientMessage,
  Decision,
  Delta,
  PlanView,
  ReloadReport,
  Snapshot,
  SupervisorClient,
  SupervisorEnd,
} from './types.js';

export type { SupervisorTarget } from './supervisor-http.js';

const FIRST_RETRY_MILLIS = 250;
const LAST_RETRY_MILLIS = 5_000;

export interface ConnectOptions {
  /**
   * This screen started the supervisor: when the connection ends without `detach()`, the supervisor stops itself and its
   * models. A supervisor that comes after that one at the same address is not owned.
   */
  readonly owner?: boolean;
  /** Tells of the end of its process, where it is known. Returns the function that ends that. */
  readonly onEnd?: (listener: (end: SupervisorEnd) => void) => () => void;
}

/**
 * A client of a running supervisor. Nothing is sent before the first call or subscription. Actions never throw; `plan` and `logs`
 * throw an `Error` whose message is one sentence.
 */
export function connectSupervisor(target: SupervisorTarget, options: ConnectOptions = {}): SupervisorClient {
  const http = supervisorHttp(target);
  const closing = new AbortController();

  async function command(path: string, body: unknown): Promise<ActionResult> {
    try {
      await http.json('POST', path, body);
      return { ok: true };
    } catch (error) {
      return { ok: false, message: failureSentence(http.name, error) };
    }
  }

  async function read(path: string): Promise<unknown> {
    try {
      return await http.json('GET', path);
    } catch (error) {
      throw new Error(failureSentence(http.name, error), { cause: error });
    }
  }

  return {
    source: 'url' in target ? REMOTE_SUPERVISOR : SUPERVISOR,
    recording: null,
    subscribe(listener) {
      const ending = new AbortController();
      void listen(http, options.owner === true, listener, AbortSignal.any([ending.signal, closing.signal]));
      const deaf = options.onEnd?.((end) => listener({ type: 'ended', end }));
      return () => {
        deaf?.();
        ending.abort();
      };
    },
    act: (action, model, request) => command(`supervisor/${action}`, request === undefined ? { model } : { request }),
    async reload() {
      try {
        return { ok: true, report: (await http.json('POST', 'supervisor/reload', {})) as ReloadReport };
      } catch (error) {
        return { ok: false, message: failureSentence(http.name, error) };
      }
    },
    plan: async (model) => (await read(`supervisor/plan?model=${encodeURIComponent(model)}`)) as PlanView,
    logs: async (model) => {
      const reply = (await read(`supervisor/logs?model=${encodeURIComponent(model)}`)) as { lines: string[] };
      return reply.lines;
    },
    followLog(model, listener) {
      const ending = new AbortController();
      void followLog(http, model, listener, AbortSignal.any([ending.signal, closing.signal]));
      return () => ending.abort();
    },
    stopAll: () => command('supervisor/shutdown', {}),
    detach: () => command('supervisor/detach', {}),
    close() {
      closing.abort();
      http.close();
    },
  };
}

/** Listens until `signal` ends it; after a loss it tries again, soon at first and then less often. */
async function listen(
  http: SupervisorHttp,
  owner: boolean,
  listener: (message: ClientMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  let wait = FIRST_RETRY_MILLIS;
  let said: string | null = null;
  let owned: SupervisorIdentity | null = null;
  while (!signal.aborted) {
    let reason: string;
    try {
      const owns = owner && (owned === null || (await answers(http, owned)));
      const path = owns ? 'supervisor/events?owner=1' : 'supervisor/events';
      for await (const message of messages(await http.stream(path, signal))) {
        if (owns && message.type === 'snapshot') owned ??= identityOf(message.snapshot.supervisor);
        wait = FIRST_RETRY_MILLIS;
        said = null;
        listener(message);
      }
      reason = `The supervisor at ${http.name} has ended the connection.`;
    } catch (error) {
      reason = failureSentence(http.name, error);
    }
    if (aborted(signal)) return;
    if (reason !== said) listener({ type: 'disconnected', reason });
    said = reason;
    await pause(wait, signal);
    wait = Math.min(wait * 2, LAST_RETRY_MILLIS);
  }
}

/** True while the supervisor that answers is this one: another one must not be told that it is owned. */
async function answers(http: SupervisorHttp, identity: SupervisorIdentity): Promise<boolean> {
  const { supervisor } = (await http.json('GET', 'supervisor/state')) as Snapshot;
  return isSameSupervisor(identity, supervisor);
}

/** The signal may be aborted by anything that ran meanwhile, which control flow analysis cannot know. */
function aborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

async function* messages(stream: AsyncIterable<string>): AsyncGenerator<ClientMessage> {
  const parser = createSseParser();
  for await (const piece of stream) {
    for (const { event, data } of parser.push(piece)) {
      const message = toMessage(event, data);
      if (message !== null) yield message;
    }
  }
}

/** Events of a later version are passed over. */
function toMessage(event: string, data: string): ClientMessage | null {
  switch (event) {
    case 'snapshot':
      return { type: 'snapshot', snapshot: JSON.parse(data) as Snapshot };
    case 'delta':
      return { type: 'delta', delta: JSON.parse(data) as Delta };
    case 'decision':
      return { type: 'decision', decision: JSON.parse(data) as Decision };
    default:
      return null;
  }
}
