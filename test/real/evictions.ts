import type { Decision, DeviceBytes } from '../../src/client/types.js';

/**
 * Checks every eviction against the ledger in its own record: each victim gave bytes where they were missing, and could
 * not have stayed. What is wrong, one sentence each.
 */
export function faultsOfEvictions(decisions: readonly Decision[]): readonly string[] {
  return decisions
    .filter(({ kind }) => kind === 'evict')
    .flatMap((decision) => [...faultsOfLedger(decision), ...faultsOfPlan(decision)]);
}

function faultsOfLedger({ number, ledger }: Decision): readonly string[] {
  return ledger
    .filter(({ totalBytes, heldBytes, reservedBytes, externalBytes, freeBytes }) => {
      return heldBytes + reservedBytes + externalBytes + freeBytes !== totalBytes;
    })
    .map(({ device }) => `decision ${number}: the ledger of ${device} does not add up`);
}

function faultsOfPlan({ number, ledger, plan }: Decision): readonly string[] {
  const short = ledger.filter(({ deficitBytes }) => deficitBytes > 0);
  if (short.length === 0) return [`decision ${number}: evicts, but no device in its record is short`];
  const given = (device: string, victims: readonly { readonly givesBytes: DeviceBytes }[]): number =>
    victims.reduce((sum, { givesBytes }) => sum + (givesBytes[device] ?? 0), 0);
  return plan.flatMap((victim) => {
    const { model, givesBytes } = victim;
    if (!short.some(({ device }) => (givesBytes[device] ?? 0) > 0))
      return [
        `decision ${number}: ${model} left, but holds nothing on ${short.map(({ device }) => device).join(', ')}`,
      ];
    const others = plan.filter((other) => other !== victim);
    const enough = short.every(({ device, deficitBytes }) => given(device, others) >= deficitBytes);
    return enough ? [`decision ${number}: ${model} left, but the others of the plan were enough`] : [];
  });
}
