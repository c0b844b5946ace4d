import type { Effect } from '../scheduler/effects.js';
import type { EventBody } from '../scheduler/events.js';
import type { ModelId, RequestId } from '../scheduler/units.js';

/** The right of one request to use one instance, until it is disposed of; disposing of it twice does nothing. */
export interface Lease extends Disposable {
  readonly request: RequestId;
  readonly model: ModelId;
  readonly generation: number;
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
  /** Takes the request out of the queue at once when it aborts; asked for only when the request has to wait. */
  readonly signal: () => AbortSignal;
}

interface Waiting {
  readonly model: ModelId;
  readonly granted: (lease: Lease) => void;
  readonly refused: (error: Error) => void;
  /** Called once it is over; null: nothing is to be done. */
  settled: (() => void) | null;
}

/** Where requests wait for the scheduler's word. Each gets exactly one outcome, and each lease ends exactly once. */
export class LeaseDesk {
  readonly #dispatch: (event: EventBody) => void;
  readonly #waiting = new Map<RequestId, Waiting>();
  #next = 1;

  constructor(dispatch: (event: EventBody) => void) {
    this.#dispatch = dispatch;
  }

  /** Waits until the model can be used. Rejects with RequestRefused, or with the signal's reason. */
  acquire(model: ModelId, { autoload, signal }: Asking): Promise<Lease> {
    const request = `r${this.#next}`;
    this.#next += 1;
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { model, granted: resolve, refused: reject, settled: null };
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
    const release = this.#releaser(request, model);
    // A lease counts only if somebody is there to take it.
    if (waiting === null) release();
    else waiting.granted({ request, model, generation, [Symbol.dispose]: release });
  }

  reject(refusal: Refusal): void {
    this.#take(refusal.request)?.refused(new RequestRefused(refusal));
  }

  #take(request: RequestId): Waiting | null {
    const waiting = this.#waiting.get(request) ?? null;
    this.#waiting.delete(request);
    waiting?.settled?.();
    return waiting;
  }

  #releaser(request: RequestId, model: ModelId): () => void {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#dispatch({ type: 'request-ended', request, model });
    };
  }
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('the client has gone');
}
