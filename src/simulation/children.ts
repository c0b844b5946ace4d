import type { Effect } from '../scheduler/effects.js';
import type { Bytes, ModelId, RequestId } from '../scheduler/units.js';
import { Child, exitEvent } from './child.js';
import type { SimModel } from './config.js';
import type { Hub } from './hub.js';

type Of<T extends Effect['type']> = Extract<Effect, { type: T }>;

/** The child processes of a world, by generation: what the scheduler wants of one finds its way to it. */
export class Children {
  readonly #hub: Hub;
  readonly #onCut: (requests: Iterable<RequestId>) => void;
  readonly #modelById: (id: ModelId) => SimModel | null;
  /** All that were ever started. */
  readonly #all = new Map<number, Child>();

  constructor(hub: Hub, modelById: (id: ModelId) => SimModel | null, onCut: (requests: Iterable<RequestId>) => void) {
    this.#hub = hub;
    this.#modelById = modelById;
    this.#onCut = onCut;
  }

  /** What was really brought into memory, again and again. */
  get bytesLoaded(): Bytes {
    let sum = 0;
    for (const { bytesLoaded } of this.#all.values()) sum += bytesLoaded;
    return sum;
  }

  /** The model of a process that still has memory somewhere. */
  modelOf(generation: number): ModelId | null {
    return this.#all.get(generation)?.id ?? null;
  }

  spawn(effect: Of<'spawn'>): void {
    const { after, tell } = this.#hub;
    const model = this.#modelById(effect.model);
    if (model === null) {
      const exit = { exitClass: 'crashed', reason: 'it is no longer in the catalog' } as const;
      after(0, () => tell(exitEvent(effect.model, effect.generation, exit)));
      return;
    }
    const child = new Child(this.#hub, model, effect, this.#onCut);
    this.#all.set(effect.generation, child);
    child.start();
  }

  stop(effect: Of<'stop'>): void {
    const child = this.#all.get(effect.generation);
    if (child !== undefined && child.phase !== 'dead') child.stop(effect);
  }

  park({ generation }: Of<'park'>): void {
    this.#all.get(generation)?.park();
  }

  wake({ generation }: Of<'wake'>): void {
    this.#all.get(generation)?.wake();
  }

  work(generation: number, request: RequestId): void {
    this.#all.get(generation)?.work(request);
  }

  endWork(model: ModelId, request: RequestId): void {
    for (const child of this.#all.values()) if (child.id === model) child.endWork(request);
  }

  crash(model: ModelId): void {
    for (const child of this.#all.values()) if (child.id === model) child.crash();
  }

  /** Its clients are told that their time is over. */
  hangUp({ generation }: Of<'hang-up'>): void {
    const child = this.#all.get(generation);
    if (child !== undefined) this.#onCut(child.leases);
  }
}
