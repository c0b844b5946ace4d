import { needsPerDevice } from '../engines/memory-table.js';
import type { ChildMemory } from '../engines/messages.js';
import type { DeviceReading } from '../scheduler/events.js';
import type { Placement } from '../scheduler/state.js';
import { HOST, type Bytes, type DeviceBytes, type DeviceName } from '../scheduler/units.js';

/**
 * On which devices a model is best measured: those of the first way to lay it out that could fit at all, since
 * measured there, the figures need no conversion. Null: where the child sees fit.
 */
export function devicesToMeasureOn(
  estimates: readonly Placement[],
  devices: readonly DeviceReading[],
): readonly DeviceName[] | null {
  if (estimates.length < 2) return null;
  const totals = new Map(devices.map(({ name, totalBytes }) => [name, totalBytes]));
  const fits = ({ need }: Placement): boolean =>
    Object.entries(need).every(([device, bytes]) => bytes <= (totals.get(device) ?? Infinity));
  const chosen = estimates.find(fits) ?? estimates.at(-1);
  return chosen === undefined ? null : Object.keys(chosen.need);
}

/**
 * The ways to lay a model out, with what it needs as measured in place of what was estimated.
 *
 * A layout on the devices that it was measured on needs just that. On others, weights and cache are what they were,
 * shared between the devices as the estimate shares them; and every device has compute buffers of its own, as large
 * as the largest that were seen. System memory beside devices stays what it was. Empty when nothing was measured.
 */
export function measuredPlacements(table: ChildMemory, estimates: readonly Placement[]): readonly Placement[] {
  const needs = needsPerDevice(table).filter(({ sharedBytes, computeBytes }) => sharedBytes + computeBytes > 0);
  if (needs.length === 0) return [];
  const exact: DeviceBytes = Object.fromEntries(
    needs.map(({ device, sharedBytes, computeBytes }) => [device, sharedBytes + computeBytes]),
  );
  // What only the child knows how to lay out is where it was seen to lay it out.
  if (estimates.every(({ need }) => Object.keys(need).length === 0)) return [{ need: exact, quality: 'min' }];
  return estimates.map(({ need }) => ({ need: convert(needs, exact, need), quality: 'min' }));
}

function convert(needs: ReturnType<typeof needsPerDevice>, exact: DeviceBytes, estimate: DeviceBytes): DeviceBytes {
  const wanted = acceleratorsOf(estimate);
  const measured = acceleratorsOf(exact);
  if (sameNames(wanted, measured)) return exact;
  const onDevices = needs.filter(({ device }) => device !== HOST);
  const host = needs.find(({ device }) => device === HOST);
  if (wanted.length === 0 || onDevices.length === 0) return moveAll(needs, wanted, estimate);

  const shared = onDevices.reduce((sum, { sharedBytes }) => sum + sharedBytes, 0);
  const compute = Math.max(...onDevices.map(({ computeBytes }) => computeBytes));
  const shares = shareOut(shared, wanted, estimate).map(([device, bytes]) => [device, bytes + compute] as const);
  const rest = host === undefined ? [] : [[HOST, host.sharedBytes + host.computeBytes] as const];
  return Object.fromEntries([...shares, ...rest]);
}

/** From devices to system memory, or the other way round: all of it. */
function moveAll(
  needs: ReturnType<typeof needsPerDevice>,
  wanted: readonly DeviceName[],
  estimate: DeviceBytes,
): DeviceBytes {
  const all = needs.reduce((sum, { sharedBytes }) => sum + sharedBytes, 0);
  const compute = Math.max(...needs.map(({ computeBytes }) => computeBytes));
  const targets = wanted.length > 0 ? wanted : [HOST];
  return Object.fromEntries(shareOut(all, targets, estimate).map(([device, bytes]) => [device, bytes + compute]));
}

/** Rounded up: a claim that is a byte too large does no harm. */
function shareOut(
  bytes: Bytes,
  devices: readonly DeviceName[],
  weights: DeviceBytes,
): readonly (readonly [DeviceName, Bytes])[] {
  const sum = devices.reduce((total, device) => total + (weights[device] ?? 0), 0);
  return devices.map((device) => {
    const share = sum > 0 ? (weights[device] ?? 0) / sum : 1 / devices.length;
    return [device, Math.ceil(bytes * share)];
  });
}

function acceleratorsOf(need: DeviceBytes): readonly DeviceName[] {
  return Object.keys(need).filter((device) => device !== HOST && (need[device] ?? 0) > 0);
}

function sameNames(a: readonly DeviceName[], b: readonly DeviceName[]): boolean {
  return a.length === b.length && a.every((name) => b.includes(name));
}
