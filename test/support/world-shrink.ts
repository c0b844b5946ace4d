import type { Event } from '../../src/scheduler/events.js';
import type { Settings } from '../../src/scheduler/state.js';
import { initialState, step } from '../../src/scheduler/step.js';
import { GIB } from '../../src/scheduler/units.js';
import type { Broken } from './world-check.js';
import { replay } from './world-run.js';

/**
 * Leaves out recorded events for as long as the same thing still goes wrong when the rest is replayed: ddmin, for at
 * most `limitMillis`. Null when replaying alone does not show it.
 */
export function shrinkTrace(
  settings: Settings,
  events: readonly Event[],
  broken: Broken,
  limitMillis: number,
): readonly Event[] | null {
  const deadline = performance.now() + limitMillis;
  const fails = (trace: readonly Event[]): boolean =>
    replay(settings, trace, broken.kind === 'liveness')?.kind === broken.kind;
  if (!fails(events)) return null;

  let trace = events;
  let size = Math.ceil(trace.length / 2);
  while (performance.now() < deadline) {
    const before = trace.length;
    for (let from = trace.length - size; from > -size && performance.now() < deadline; from -= size) {
      const shorter = trace.filter((_, index) => index < from || index >= from + size);
      if (shorter.length < trace.length && fails(shorter)) trace = shorter;
    }
    if (size > 1) size = Math.ceil(size / 2);
    else if (trace.length === before) break;
  }
  return trace;
}

/** The trace for people, each event with what the scheduler decided and did; times count from the first event. */
export function describeTrace(settings: Settings, trace: readonly Event[]): string {
  const lines = [`settings ${JSON.stringify(settings)}`];
  const start = trace[0]?.at ?? 0;
  let state = initialState(settings);
  for (const event of trace) {
    const { at, ...body } = event;
    lines.push(`${String(at - start).padStart(8)} ${JSON.stringify(body, roundBytes)}`);
    try {
      const result = step(state, event);
      state = result.state;
      for (const { kind, sentence } of result.decisions) lines.push(`${' '.repeat(12)}${kind}: ${sentence}`);
      for (const effect of result.effects) lines.push(`${' '.repeat(12)}→ ${JSON.stringify(effect, roundBytes)}`);
    } catch (error) {
      lines.push(`${' '.repeat(12)}throws ${String(error)}`);
    }
  }
  return lines.join('\n');
}

/** Amounts as GiB; everything that large and not as large as a time is an amount. */
function roundBytes(_key: string, value: unknown): unknown {
  return typeof value === 'number' && value > 1e6 && value < 1e12 ? `${(value / GIB).toFixed(2)} GiB` : value;
}
