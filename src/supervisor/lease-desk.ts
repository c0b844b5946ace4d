import type { Effect } from '../scheduler/effects.js';
import type { EventBody } from '../scheduler/events.js';
import type { RequestView } from '../client/types.js';
import type { Millis, ModelId, RequestId } from '../scheduler/units.js';

/** The right of one request to use one instance, until it is disposed of; disposing of it twice does nothing. */
export interface Lease extends Disposable {
  readonly request: RequestId;
  readonly model: ModelId;
  readonly generation: number;
  /** Set once the operator has cancelled the request, with what its client is to be told. */
  readonly cancelled: RequestRefused | null;
  /** Called at that moment; null: nobody listens. One at a time. */
  onCancel: (() => void) | null;
}

type Refusal = Extract<Effect, { type: 'reject' }>;

/** A request that will not be served, with everything that the client should be told. */
export class RequestRefused extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterSeconds: number | null;
  readonly decision: number;

  constructor({ status, code, message, retryAfterSeconds, decision }: Omit<Refusal, 'type' | 'request' | 'model'>) {
    super(message);
    this.name = 'RequestRefused';
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
    this.decision = decision;
  }
}

/** How a request asks for its model. */
export interface Asking {
  /** Whether the model may be loaded for it. */
  readonly autoload: boolean;
  /** What it was sent to: how it is called where requests are listed. */
  readonly kind: string;
  /** Who asks, for those lists; asked for only when one is made. */
  readonly client: () => string;
  /** Takes the request out of the queue at once when it aborts; asked for only when the request has to wait. */
  readonly signal: () => AbortSignal;
}

interface Waiting {
  readonly model: ModelId;
  readonly kind: string;
  readonly client: () => string;
  readonly since: Millis;
  readonly granted: (lease: Lease) => void;
  readonly refused: (error: Error) => void;
  /** Called once it is over; null: nothing is to be done. */
  settled: (() => void) | null;
}

/** More would be a burden on every screen, and no list that anybody reads. */
const LISTED = 100;

class HeldLease implements Lease {
  readonly request: RequestId;
  readonly model: ModelId;
  readonly generation: number;
  readonly asked: Pick<Waiting, 'kind' | 'client' | 'since'>;
  onCancel: (() => void) | null = null;
  cancelled: RequestRefused | null = null;
  #release: (() => void) | null;

  constructor(request: RequestId, asked: Waiting, generation: number, release: () => void) {
    this.request = request;
    this.model = asked.model;
    this.asked = asked;
    this.generation = generation;
    this.#release = release;
  }

  cancel(refusal: RequestRefused): void {
    if (this.cancelled !== null || this.#release === null) return;
    this.cancelled = refusal;
    this.onCancel?.();
  }

  [Symbol.dispose](): void {
    const release = this.#release;
    this.#release = null;
    release?.();
  }
}

/** Where requests wait for the scheduler's word. Each gets exactly one outcome, and each lease ends exactly once. */
export class LeaseDesk {
  readonly #dispatch: (event: EventBody) => void;
  readonly #now: () => Millis;
  readonly #waiting = new Map<RequestId, Waiting>();
  /** Those who use an instance. */
  readonly #running = new Map<RequestId, HeldLease>();
  #next = 1;

  constructor(dispatch: (event: EventBody) => void, now: () => Millis) {
    this.#dispatch = dispatch;
    this.#now = now;
  }

  /** Waits until the model can be used. Rejects with RequestRefused, or with the signal's reason. */
  acquire(model: ModelId, { autoload, kind, client, signal }: Asking): Promise<Lease> {
    const request = `r${this.#next}`;
    this.#next += 1;
    return new Promise((resolve, reject) => {
      const since = this.#now();
      const waiting: Waiting = { model, kind, client, since, granted: resolve, refused: reject, settled: null };
      this.#waiting.set(request, waiting);
      this.#dispatch({ type: 'request', request, model, autoload });
      // Nearly all have their answer now, and need not be watched.
      if (!this.#waiting.has(request)) return;
      const leaves = signal();
      const leave = (): void => {
        if (this.#take(request) === null) return;
        this.#dispatch({ type: 'request-ended', request, model });
        reject(reasonOf(leaves));
      };
      if (leaves.aborted) return leave();
      leaves.addEventListener('abort', leave, { once: true });
      waiting.settled = () => leaves.removeEventListener('abort', leave);
    });
  }

  grant({ request, model, generation }: Extract<Effect, { type: 'grant' }>): void {
    const waiting = this.#take(request);
    const release = (): void => {
      this.#running.delete(request);
      this.#dispatch({ type: 'request-ended', request, model });
    };
    // A lease counts only if somebody is there to take it.
    if (waiting === null) return release();
    const lease = new HeldLease(request, waiting, generation, release);
    this.#running.set(request, lease);
    waiting.granted(lease);
  }

  /** The operator ends a request that is being answered; one that has ended meanwhile is left alone. */
  cutOff({ request, model }: Extract<Effect, { type: 'cut-off' }>): void {
    const message = `the request for model '${model}' was cancelled by the operator`;
    const refusal = { status: 503, code: 'request_cancelled', message, retryAfterSeconds: null, decision: 0 };
    this.#running.get(request)?.cancel(new RequestRefused(refusal));
  }

  reject(refusal: Refusal): void {
    this.#take(refusal.request)?.refused(new RequestRefused(refusal));
  }

  /** Those who wait and those who are being answered, the oldest first. */
  open(): readonly RequestView[] {
    const view = (
      [id, { model, kind, client, since }]: [RequestId, Pick<Waiting, 'model' | 'kind' | 'client' | 'since'>],
      waiting: boolean,
    ): RequestView => ({ id, model, kind, client: client(), since, waiting });
    return [
      ...firstOf(this.#waiting, LISTED).map((entry) => view(entry, true)),
      ...firstOf(this.#running, LISTED).map(([id, { model, asked }]) => view([id, { model, ...asked }], false)),
    ]
      .sort((one, other) => one.since - other.since)
      .slice(0, LISTED);
  }

  #take(request: RequestId): Waiting | null {
    const waiting = this.#waiting.get(request) ?? null;
    this.#waiting.delete(request);
    waiting?.settled?.();
    return waiting;
  }
}

function firstOf<K, V>(map: ReadonlyMap<K, V>, count: number): readonly [K, V][] {
  const first: [K, V][] = [];
  for (const entry of map) {
    if (first.length === count) break;
    first.push(entry);
  }
  return first;
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('the client has gone');
}
