import { bytesOn } from './amounts.js';
import type { PolicyName } from './state.js';
import type { Bytes, DeviceBytes, DeviceName, Millis, ModelId } from './units.js';

/** What is missing before a model can be loaded. */
export interface Shortage {
  /** Bytes missing on each device that is short; only positive figures. */
  readonly bytes: DeviceBytes;
  /** Instances too many, when their number is limited. */
  readonly instances: number;
}

/** An instance that may be asked to leave. */
export interface Candidate {
  readonly model: ModelId;
  readonly generation: number;
  readonly lastUsedAt: Millis;
  /** 0 for one that is busy. */
  readonly idleMillis: Millis;
  /** In flight. */
  readonly requests: number;
  /** How long it took to load; null: not known. */
  readonly reloadMillis: Millis | null;
  readonly priority: number;
  readonly gives: DeviceBytes;
}

/** Who has to leave so that nothing is short any more, first to leave first; null: even all of them are not enough. */
export type Policy = (candidates: readonly Candidate[], shortage: Shortage) => readonly Candidate[] | null;

/** Where no load was timed yet, all cost the same. */
const UNKNOWN_RELOAD_MILLIS: Millis = 10_000;

export function isShort(shortage: Shortage): boolean {
  return shortage.instances > 0 || Object.keys(shortage.bytes).length > 0;
}

/** What is still missing once the given instances have left. */
export function remaining(shortage: Shortage, leaving: readonly { readonly gives: DeviceBytes }[]): Shortage {
  const bytes: Record<DeviceName, Bytes> = {};
  for (const [device, missing] of Object.entries(shortage.bytes)) {
    const left = leaving.reduce((sum, candidate) => sum - bytesOn(candidate.gives, device), missing);
    if (left > 0) bytes[device] = left;
  }
  return { bytes, instances: Math.max(0, shortage.instances - leaving.length) };
}

/** True when its leaving brings back bytes where they are missing, or a place where places are missing. */
export function helps(gives: DeviceBytes, shortage: Shortage): boolean {
  return shortage.instances > 0 || Object.keys(shortage.bytes).some((device) => bytesOn(gives, device) > 0);
}

type Order = (a: Candidate, b: Candidate, shortage: Shortage) => number;

/** Ties never depend on anything but the instances themselves. */
const byAge: Order = (a, b) => a.lastUsedAt - b.lastUsedAt || a.generation - b.generation;

/** What it costs to have it back, for what it gives where it is needed: idle time × bytes freed ÷ reload time. */
const byCost: Order = (a, b, shortage) => worth(b, shortage) - worth(a, shortage) || byAge(a, b, shortage);

function worth(candidate: Candidate, shortage: Shortage): number {
  const freed = Object.entries(shortage.bytes).reduce(
    (sum, [device, missing]) => sum + Math.min(missing, bytesOn(candidate.gives, device)),
    0,
  );
  const bytes = Math.max(1, freed);
  return (candidate.idleMillis * bytes) / Math.max(1, candidate.reloadMillis ?? UNKNOWN_RELOAD_MILLIS);
}

/**
 * Takes candidates in order, lower priority first, leaving out those that bring nothing; a second pass gives back, last
 * taken first, whoever turned out not to be needed.
 */
function inOrder(order: Order): Policy {
  return (candidates, shortage) => {
    const plan: Candidate[] = [];
    let missing = shortage;
    const sorted = [...candidates].sort((a, b) => a.priority - b.priority || order(a, b, shortage));
    for (const candidate of sorted) {
      if (!isShort(missing)) break;
      if (!helps(candidate.gives, missing)) continue;
      plan.push(candidate);
      missing = remaining(shortage, plan);
    }
    if (isShort(missing)) return null;
    for (const candidate of [...plan].reverse()) {
      const without = plan.filter((other) => other !== candidate);
      if (!isShort(remaining(shortage, without))) plan.splice(plan.indexOf(candidate), 1);
    }
    return plan;
  };
}

/** What llama-server's router does: the least recently used go, wherever they are, until there is room. */
const anyDevice: Policy = (candidates, shortage) => {
  const plan: Candidate[] = [];
  for (const candidate of [...candidates].sort((a, b) => byAge(a, b, shortage))) {
    if (!isShort(remaining(shortage, plan))) break;
    plan.push(candidate);
  }
  return isShort(remaining(shortage, plan)) ? null : plan;
};

/** Policies are values: each is one pure function. */
export const POLICIES: Readonly<Record<PolicyName, Policy>> = {
  lru: inOrder(byAge),
  'lru-any-device': anyDevice,
  cost: inOrder(byCost),
};
