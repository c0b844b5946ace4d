import type { Decision } from '../scheduler/decisions.js';
import type { PolicyName } from '../scheduler/state.js';
import type { Bytes, Millis } from '../scheduler/units.js';
import type { WorldConfig } from './config.js';
import { World } from './world.js';

/** What came of one or more worlds under one policy. */
export interface Tally {
  readonly policy: PolicyName;
  readonly seeds: readonly number[];
  readonly requests: number;
  readonly served: number;
  readonly refused: number;
  /** Clients that went before their answer was complete, or whose child died. */
  readonly unserved: number;
  readonly loads: number;
  readonly wakes: number;
  readonly evictions: number;
  readonly outOfMemory: number;
  /** From arrival to lease, of those that got one. */
  readonly waitMillis: { readonly p50: Millis; readonly p95: Millis; readonly max: Millis };
  /** What was brought into memory, every time that it was. */
  readonly bytesLoaded: Bytes;
}

export interface SimulatedDecision extends Decision {
  readonly seed: number;
  /** Since the beginning of its world. */
  readonly afterMillis: Millis;
}

/** Plays each world and adds up what came of them. */
export function tallyWorlds(
  configs: readonly WorldConfig[],
  onDecision: (decision: SimulatedDecision) => void = () => undefined,
): Tally {
  const waits: Millis[] = [];
  const counts = { requests: 0, served: 0, refused: 0, unserved: 0, loads: 0, wakes: 0, evictions: 0, outOfMemory: 0 };
  let bytesLoaded = 0;
  for (const config of configs) {
    const world: World = new World(config, ({ result }) => {
      for (const effect of result.effects) {
        if (effect.type === 'spawn') counts.loads += 1;
        if (effect.type === 'wake') counts.wakes += 1;
      }
      for (const decision of result.decisions) {
        if (decision.kind === 'evict') counts.evictions += 1;
        if (decision.kind === 'out-of-memory') counts.outOfMemory += 1;
        onDecision({ ...decision, seed: config.seed, afterMillis: world.now });
      }
    });
    world.run();
    bytesLoaded += world.children.bytesLoaded;
    for (const client of world.clients.all.values()) {
      counts.requests += 1;
      if (client.outcome === 'served') counts.served += 1;
      else if (client.outcome === 'refused') counts.refused += 1;
      else counts.unserved += 1;
      if (client.waitedMillis !== null) waits.push(client.waitedMillis);
    }
  }
  waits.sort((a, b) => a - b);
  return {
    policy: configs[0]?.settings.policy ?? 'lru',
    seeds: configs.map(({ seed }) => seed),
    ...counts,
    waitMillis: { p50: quantile(waits, 0.5), p95: quantile(waits, 0.95), max: waits.at(-1) ?? 0 },
    bytesLoaded,
  };
}

/** Of sorted values: the least one that is no less than this share of them. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
