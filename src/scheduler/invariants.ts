import { isAmount } from './amounts.js';
import { ledgerOf, partsOf } from './ledger.js';
import { isResting } from './running.js';
import type { State } from './state.js';

/**
 * What must always hold of a state, whatever happened before. Returns one sentence for each thing that does not;
 * tests check it after every event.
 */
export function violations(state: State): readonly string[] {
  return [...ledgerViolations(state), ...instanceViolations(state), ...queueViolations(state)];
}

function ledgerViolations(state: State): readonly string[] {
  const found: string[] = [];
  for (const [name, account] of Object.entries(ledgerOf(state))) {
    const { heldBytes, reservedBytes, externalBytes, freeBytes, overcommitBytes } = partsOf(account);
    const parts = [heldBytes, reservedBytes, externalBytes, freeBytes];
    const sum = parts.reduce((total, part) => total + part, 0);
    if (sum !== account.device.totalBytes)
      found.push(`${name}: parts add up to ${sum}, not ${account.device.totalBytes}`);
    if (![...parts, overcommitBytes].every(isAmount)) found.push(`${name}: a part is no amount: ${parts.join(', ')}`);
    if (state.unread?.[name] !== undefined) found.push(`${name}: known, and never read`);
    if (account.leavingBytes > account.heldBytes) found.push(`${name}: more is leaving than is held`);
  }
  return found;
}

function instanceViolations(state: State): readonly string[] {
  const found: string[] = [];
  const generations = new Set<number>();
  const running = Object.values(state.models).filter(({ instance }) => instance !== null);
  if (running.length !== state.running.length || running.some(({ spec }) => !state.running.includes(spec.id)))
    found.push(`${state.running.join(', ')}: not those who have an instance`);
  for (const [id, { instance }] of Object.entries(state.models)) {
    if (!state.modelOrder.includes(id)) found.push(`${id}: not in the order of models`);
    if (instance === null) continue;
    if (generations.has(instance.generation)) found.push(`generation ${instance.generation} lives twice`);
    generations.add(instance.generation);
    if (instance.generation >= state.nextGeneration) found.push(`${id}: a generation that was never given`);
    if (new Set(instance.leases).size !== instance.leases.length) found.push(`${id}: a request has two leases`);
    if (instance.phase !== 'ready' && instance.phase !== 'stopping' && instance.leases.length > 0) {
      found.push(`${id}: a lease while ${instance.phase}`);
    }
    const resting = isResting(instance);
    if (resting && instance.restingSince === null) found.push(`${id}: at rest since no time`);
    if ((instance.phase === 'stopping') !== (instance.stopReason !== null))
      found.push(`${id}: stopping without a reason`);
    if (instance.draining !== null && instance.leases.length === 0)
      found.push(`${id}: drains, but nothing is in flight`);
  }
  return found;
}

function queueViolations(state: State): readonly string[] {
  const found: string[] = [];
  const models = new Set<string>();
  for (const entry of state.queue) {
    if (models.has(entry.model)) found.push(`${entry.model}: queued twice`);
    models.add(entry.model);
    if (entry.waiters.length === 0 && entry.wanted === null && state.models[entry.model]?.instance == null) {
      found.push(`${entry.model}: queued, but nobody waits`);
    }
    if (entry.why === '') found.push(`${entry.model}: queued without a reason`);
  }
  return found;
}
