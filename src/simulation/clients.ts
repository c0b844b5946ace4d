import type { Effect } from '../scheduler/effects.js';
import type { Millis, ModelId, RequestId } from '../scheduler/units.js';
import type { Arrival } from './config.js';
import type { Hub } from './hub.js';

export type Outcome = 'waiting' | 'streaming' | 'served' | 'refused' | 'left' | 'cut';

export interface Client {
  readonly request: RequestId;
  readonly arrival: Arrival;
  readonly cameAt: Millis;
  outcome: Outcome;
  /** From its arrival to its lease; null before, and when it never got one. */
  waitedMillis: Millis | null;
  /** The code of its refusal. */
  refusal: string | null;
}

type Grant = Extract<Effect, { type: 'grant' }>;
type Reject = Extract<Effect, { type: 'reject' }>;

/** Those who ask for models, and go again. */
export class Clients {
  readonly #hub: Hub;
  readonly #clock: () => Millis;
  readonly #ended: (model: ModelId, request: RequestId) => void;
  readonly all: Map<RequestId, Client> = new Map();

  constructor(hub: Hub, clock: () => Millis, ended: (model: ModelId, request: RequestId) => void) {
    this.#hub = hub;
    this.#clock = clock;
    this.#ended = ended;
  }

  arrive(arrival: Arrival): void {
    const request = `r${this.all.size + 1}`;
    const client: Client = {
      request,
      arrival,
      cameAt: this.#clock(),
      outcome: 'waiting',
      waitedMillis: null,
      refusal: null,
    };
    this.all.set(request, client);
    if (arrival.leavesAfterMillis !== null) this.#hub.after(arrival.leavesAfterMillis, () => this.#end(client, 'left'));
    this.#hub.tell({ type: 'request', request, model: arrival.model, autoload: arrival.autoload });
  }

  grant(effect: Grant): void {
    const client = this.all.get(effect.request);
    if (client?.outcome !== 'waiting') return;
    client.outcome = 'streaming';
    client.waitedMillis = this.#clock() - client.cameAt;
    this.#hub.after(client.arrival.holdMillis, () => this.#end(client, 'served'));
  }

  reject(effect: Reject): void {
    const client = this.all.get(effect.request);
    if (client?.outcome !== 'waiting') return;
    client.outcome = 'refused';
    client.refusal = effect.code;
  }

  /** The child that answered is gone; its clients notice before or after its exit is seen. */
  cut(requests: Iterable<RequestId>): void {
    for (const request of requests) {
      const client = this.all.get(request);
      if (client !== undefined) this.#hub.after(this.#hub.random.between(0, 20), () => this.#end(client, 'cut'));
    }
  }

  #end(client: Client, outcome: 'served' | 'left' | 'cut'): void {
    if (client.outcome !== 'waiting' && client.outcome !== 'streaming') return;
    client.outcome = outcome;
    const { request } = client;
    const { model } = client.arrival;
    this.#ended(model, request);
    this.#hub.tell({ type: 'request-ended', request, model });
    if (this.#hub.fault('endedTwice')) this.#hub.tell({ type: 'request-ended', request, model });
  }
}
