import type { Effect } from '../scheduler/effects.js';
import type { Placement } from '../scheduler/state.js';
import type { DeviceBytes, ModelId } from '../scheduler/units.js';
import { reportsOf } from './child-memory.js';
import type { SimModel } from './config.js';
import type { Hub } from './hub.js';

/** The children that find out what a model needs: they answer, fail, or say nothing. */
export class Measuring {
  readonly #hub: Hub;
  readonly #modelById: (id: ModelId) => SimModel | null;
  readonly #cancelled = new Set<number>();
  /** The models of all that were ever started, by generation. */
  readonly #all = new Map<number, ModelId>();

  constructor(hub: Hub, modelById: (id: ModelId) => SimModel | null) {
    this.#hub = hub;
    this.#modelById = modelById;
  }

  measure({ model: id, fingerprint, generation }: Extract<Effect, { type: 'measure' }>): void {
    const { after, fault, random, tell } = this.#hub;
    this.#all.set(generation, id);
    const model = this.#modelById(id);
    const hasRoom = this.#take(generation, model?.measure.takes ?? {});
    if (fault('measureSilent')) return;
    const fails = model === null || !hasRoom || fault('measureFails');
    const isAbsurd = fault('measureAbsurd');
    after(model?.measure.millis ?? 0, () => {
      if (!this.#cancelled.has(generation)) this.#end(generation);
      // One that is stopped may have answered already.
      else if (!fault('saysLate')) return;
      const placements = fails ? null : isAbsurd ? random.pick(ABSURD) : measuredPlacements(model);
      const reason = fails ? 'it ended without a result' : '';
      tell({ type: 'measured', model: id, fingerprint, placements, reports: reportsOf(this.#hub.pools), reason });
    });
  }

  cancel({ model }: Extract<Effect, { type: 'cancel-measure' }>): void {
    const latest = [...this.#all.keys()].at(-1);
    if (latest === undefined || this.#all.get(latest) !== model) return;
    this.#cancelled.add(latest);
    this.#end(latest);
  }

  /** The model that a process measures, or measured, which still has memory somewhere. */
  modelOf(generation: number): ModelId | null {
    return this.#all.get(generation) ?? null;
  }

  /** False when some device has no room for it. */
  #take(generation: number, bytes: DeviceBytes): boolean {
    const taken = Object.entries(bytes).map(([name, amount]) => {
      return this.#hub.pools.get(name)?.allocate(generation, amount) ?? true;
    });
    return taken.every(Boolean);
  }

  #end(generation: number): void {
    for (const pool of this.#hub.pools.values()) pool.abandon(generation);
  }
}

const ABSURD: readonly (readonly Placement[])[] = [
  [],
  [{ need: {}, quality: 'min' }],
  [{ need: { CUDA0: Number.NaN }, quality: 'min' }],
  [{ need: { CUDA0: -1 }, quality: 'min' }],
];

function measuredPlacements(model: SimModel): readonly Placement[] {
  return model.needs.map((need) => ({
    need: Object.fromEntries(
      Object.entries(need).map(([name, bytes]) => [name, Math.floor(bytes * model.measure.ratio)]),
    ),
    quality: 'min',
  }));
}
