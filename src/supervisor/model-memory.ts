import type { ChildMemory } from '../engines/messages.js';
import type { MeasureWord, Model } from '../scheduler/state.js';
import type { DeviceBytes } from '../scheduler/units.js';
import type { Children } from './children.js';
import type { Measuring } from './measuring.js';

/** What is known of a model's memory; tables as in the child protocol. */
export interface ModelMemory {
  readonly status: MeasureWord;
  readonly min: ChildMemory | null;
  readonly max: ChildMemory | null;
  /** What the running instance has said that it allocated. */
  readonly effective: ChildMemory | null;
  readonly observed: DeviceBytes | null;
  /** What it was last seen to hold while it slept, or was parked. */
  readonly rested: DeviceBytes | null;
  readonly estimate: DeviceBytes | null;
  /** What every process takes besides such tables, on the devices that this model's uses: learnt, else a guess. */
  readonly context: DeviceBytes | null;
}

/** All that is known of a model's memory, in all the ways in which it is known. */
export function describeMemory(
  { spec, measure, measured, instance, observed, rested = null }: Model,
  measuring: Pick<Measuring, 'tablesOf' | 'contextOf'>,
  children: Pick<Children, 'memoryOf'>,
): ModelMemory {
  const tables = measuring.tablesOf(spec.id);
  const estimate = spec.placements[0]?.need ?? {};
  const context = measuring.contextOf(spec.id, instance?.claim ?? measured?.[0]?.need ?? estimate);
  return {
    status: measure,
    min: tables?.min ?? null,
    max: tables?.max ?? null,
    effective: instance === null ? null : children.memoryOf(instance.generation),
    observed,
    rested,
    estimate: orNull(estimate),
    context: orNull(context),
  };
}

function orNull(amounts: DeviceBytes): DeviceBytes | null {
  return Object.keys(amounts).length === 0 ? null : amounts;
}
