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
  #started = 0;
  #running: { readonly number: number; readonly model: ModelId } | null = null;

  constructor(hub: Hub, modelById: (id: ModelId) => SimModel | null) {
    this.#hub = hub;
    this.#modelById = modelById;
  }

  measure({ model: id, fingerprint }: Extract<Effect, { type: 'measure' }>): void {
    const { after, fault, random, tell } = this.#hub;
    this.#started += 1;
    const number = this.#started;
    this.#running = { number, model: id };
    const model = this.#modelById(id);
    const hasRoom = this.#take(number, model?.measure.takes ?? {});
    if (fault('measureSilent')) return;
    const fails = model === null || !hasRoom || fault('measureFails');
    const isAbsurd = fault('measureAbsurd');
    after(model?.measure.millis ?? 0, () => {
      this.#end(number);
      // One that is stopped may have answered already.
      if (this.#cancelled.has(number) && !fault('saysLate')) return;
      const placements = fails ? null : isAbsurd ? random.pick(ABSURD) : measuredPlacements(model);
      const reason = fails ? 'it ended without a result' : '';
      tell({ type: 'measured', model: id, fingerprint, placements, reports: reportsOf(this.#hub.pools), reason });
    });
  }

  cancel({ model }: Extract<Effect, { type: 'cancel-measure' }>): void {
    if (this.#running?.model !== model) return;
    this.#cancelled.add(this.#running.number);
    this.#end(this.#running.number);
  }

  /** The model that a process measures, by the number under which devices know it; null: it measures none. */
  modelOf(process: number): ModelId | null {
    return this.#running !== null && process === processOf(this.#running.number) ? this.#running.model : null;
  }

  /** False when some device has no room for it. */
  #take(number: number, bytes: DeviceBytes): boolean {
    const taken = Object.entries(bytes).map(([name, amount]) => {
      return this.#hub.pools.get(name)?.allocate(processOf(number), amount) ?? true;
    });
    return taken.every(Boolean);
  }

  #end(number: number): void {
    for (const pool of this.#hub.pools.values()) pool.abandon(processOf(number));
  }
}

/** Instances have the positive numbers. */
function processOf(number: number): number {
  return -number;
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
