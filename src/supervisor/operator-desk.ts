import { DownloadError } from '../catalog/hf-cache/hub.js';
import type { ActionResult, OperatorAction } from '../client/types.js';
import type { Decision } from '../scheduler/decisions.js';
import type { EventBody } from '../scheduler/events.js';
import { reasonAgainst } from '../scheduler/operator.js';
import { runningOf } from '../scheduler/running.js';
import type { State } from '../scheduler/state.js';
import type { ModelId, RequestId } from '../scheduler/units.js';
import type { TurnListeners } from './turn-listeners.js';

export interface OperatorDeskOptions {
  readonly state: () => State;
  readonly dispatch: (event: EventBody) => void;
  readonly turns: Pick<TurnListeners, 'add' | 'when'>;
}

/** Does what the operator asks for, and says at once why it cannot be done. */
export class OperatorDesk {
  readonly #options: OperatorDeskOptions;

  constructor(options: OperatorDeskOptions) {
    this.#options = options;
  }

  /** Why an action makes no sense now, or what came of it. `request` is the one to cancel, where not all of the model's are. */
  operate(action: OperatorAction, model: ModelId, request?: RequestId): ActionResult {
    const { state, dispatch, turns } = this.#options;
    const message = reasonAgainst(state(), action, model, request);
    if (message !== null) return { ok: false, message };
    const refused: Decision[] = [];
    const stop = turns.add(({ decisions }) => {
      refused.push(...decisions.filter((decision) => decision.kind === 'refuse' && decision.model === model));
    });
    dispatch({ type: 'operator', action, model, ...(request === undefined ? {} : { request }) });
    stop();
    return refused[0] === undefined ? { ok: true } : { ok: false, message: refused[0].sentence };
  }

  /** The model that a request waits for, or is answered by; null: there is no such request. */
  modelOfRequest(request: RequestId): ModelId | null {
    const state = this.#options.state();
    const entry = state.queue.find(({ waiters }) => waiters.some((waiter) => waiter.request === request));
    const running = runningOf(state).find(([, { leases }]) => leases.includes(request));
    return entry?.model ?? running?.[0] ?? null;
  }

  /** Stops a model whose files are to go, and waits until it has gone. Throws DownloadError where it may not be stopped. */
  async stopForRemoval(model: ModelId): Promise<void> {
    const { state, turns } = this.#options;
    const gone = (): true | null => (state().models[model]?.instance == null ? true : null);
    if (gone() === true) return;
    const result = this.operate('unload', model);
    const leaves = state().models[model]?.instance;
    const isLeaving = leaves?.phase === 'stopping' || leaves?.draining != null;
    if (!result.ok && !isLeaving) throw new DownloadError(result.message, 400);
    await turns.when(gone, null);
  }
}
