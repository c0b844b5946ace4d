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

interface Waiting {
  readonly model: ModelId;
  readonly granted: (lease: Lease) => void;
  readonly refused: (error: Error) => void;
}

/** Where requests wait for the scheduler's word. Each gets exactly one outcome, and each lease ends exactly once. */
export class LeaseDesk {
  readonly #dispatch: (event: EventBody) => void;
  readonly #waiting = new Map<RequestId, Waiting>();
  #next = 1;

  constructor(dispatch: (event: EventBody) => void) {
    this.#dispatch = dispatch;
  }

  /**
   * Waits until the model can be used. `signal` takes the request out of the queue at once. Rejects with
   * RequestRefused, or with the signal's reason.
   */
  acquire(model: ModelId, options: { readonly autoload: boolean; readonly signal: AbortSignal }): Promise<Lease> {
    const { autoload, signal } = options;
    const request = `r${this.#next}`;
    this.#next += 1;
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(reasonOf(signal));
        return;
      }
      const leave = (): void => {
        if (!this.#waiting.delete(request)) return;
        this.#dispatch({ type: 'request-ended', request, model });
        reject(reasonOf(signal));
      };
      const settled = (): void => signal.removeEventListener('abort', leave);
      this.#waiting.set(request, {
        model,
        granted: (lease) => {
          settled();
          resolve(lease);
        },
        refused: (error) => {
          settled();
          reject(error);
        },
      });
      signal.addEventListener('abort', leave, { once: true });
      this.#dispatch({ type: 'request', request, model, autoload });
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
