import { sumPerDevice } from '../engines/memory-table.js';
import type { ChildMemory } from '../engines/messages.js';
import type { Contexts } from '../measurements/contexts.js';
import { measuredPlacements } from '../measurements/placements.js';
import type { MemoryTables } from '../measurements/store.js';
import { runningOf } from '../scheduler/running.js';
import type { Instance, State } from '../scheduler/state.js';
import { HOST, type DeviceBytes, type DeviceName, type ModelId } from '../scheduler/units.js';

export interface ContextLearningOptions {
  readonly contexts: Pick<Contexts, 'learn'>;
  /** What an instance has said that it allocated, or null. */
  readonly memoryOf: (generation: number) => ChildMemory | null;
  /** What was measured of a model, or null; also when the measurement leaves parts of it out. */
  readonly tablesOf: (model: ModelId) => MemoryTables | null;
}

/** Looks once at each instance after it has become ready: what it is seen to hold, less what its tables say, is the driver's. */
export class ContextLearning {
  readonly #options: ContextLearningOptions;
  #looked: ReadonlySet<number> = new Set();

  constructor(options: ContextLearningOptions) {
    this.#options = options;
  }

  /** Called after a sample. True when more or less is known of any device than before. */
  look(state: State): boolean {
    const running = runningOf(state);
    const looked = new Set(running.map(([, { generation }]) => generation).filter((one) => this.#looked.has(one)));
    let learnt = false;
    for (const [model, instance] of running) {
      if (looked.has(instance.generation)) continue;
      const seen = residencyWhenReady(state, instance);
      if (seen === null) continue;
      looked.add(instance.generation);
      const table = this.#tableOf(state, model, instance, seen);
      if (table === null) continue;
      for (const [name, bytes] of Object.entries(seen)) {
        learnt = this.#options.contexts.learn(name, bytes, table.need[name] ?? 0, table.exact) || learnt;
      }
    }
    this.#looked = looked;
    return learnt;
  }

  /** What it says that it allocated; else what was measured at its context, as it would be laid out on its devices. */
  #tableOf(
    state: State,
    model: ModelId,
    { generation, contextTokens }: Instance,
    seen: DeviceBytes,
  ): { readonly need: DeviceBytes; readonly exact: boolean } | null {
    const said = this.#options.memoryOf(generation);
    if (said !== null) return { need: sumPerDevice(said), exact: true };
    const { min, max } = this.#options.tablesOf(model) ?? {};
    const table = [min, max].find((one) => one !== undefined && one.n_ctx === contextTokens);
    if (table === undefined) return null;
    const measured = sumPerDevice(table);
    if (sameAccelerators(measured, seen)) return { need: measured, exact: true };
    const placements = measuredPlacements(table, state.models[model]?.spec.placements ?? []);
    const placed = placements.find(({ need }) => sameAccelerators(need, seen));
    return placed === undefined ? null : { need: placed.need, exact: false };
  }
}

/** Bytes on the devices that are told apart by process, once all of them have been sampled since it became ready. */
function residencyWhenReady({ devices }: State, { phase, readyAt, resident }: Instance): DeviceBytes | null {
  if (phase !== 'ready' || readyAt === null) return null;
  const seen = Object.entries(resident).filter(([name]) => devices[name]?.kind !== 'host');
  const fresh = seen.every(([name]) => (devices[name]?.sample?.takenAt ?? 0) >= readyAt);
  return seen.length > 0 && fresh ? Object.fromEntries(seen) : null;
}

function sameAccelerators(a: DeviceBytes, b: DeviceBytes): boolean {
  return acceleratorsOf(a).join('\n') === acceleratorsOf(b).join('\n');
}

function acceleratorsOf(amounts: DeviceBytes): readonly DeviceName[] {
  const names = Object.keys(amounts).filter((name) => name !== HOST && (amounts[name] ?? 0) > 0);
  return names.sort();
}
