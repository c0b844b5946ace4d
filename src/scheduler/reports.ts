import { bytesOn, isAmount } from './amounts.js';
import type { DeviceReport } from './events.js';
import { ledgerOf } from './ledger.js';
import { setMargins } from './margins.js';
import type { Device, DeviceKind } from './state.js';
import { modelOf, type Turn } from './turn.js';
import { noLongerUnread } from './unread.js';
import type { DeviceName, ModelId } from './units.js';

/**
 * Takes in what a child says of devices that no probe serves. What is neither free, nor the reporter's own, nor claimed
 * by the others is external. `reporter` is null for a measuring child, which allocates nothing.
 */
export function takeReports(turn: Turn, reports: readonly DeviceReport[], reporter: ModelId | null): void {
  for (const { name, totalBytes, freeBytes } of reports) {
    const known = turn.state.devices[name];
    const isOurs = known === undefined || known.sample === null;
    if (!isOurs || name === '__proto__' || ![totalBytes, freeBytes].every(isAmount) || freeBytes > totalBytes) continue;
    const device: Device = known ?? noLongerUnread(turn, newDevice(name, kindOf(name), totalBytes));
    turn.state.devices[name] = { ...device, totalBytes };
    if (known === undefined) setMargins(turn);

    const self = reporter === null ? 0 : bytesOn(modelOf(turn.state, reporter)?.instance?.claim ?? {}, name);
    const { heldBytes, reservedBytes } = ledgerOf(turn.state)[name] ?? { heldBytes: 0, reservedBytes: 0 };
    const others = heldBytes + reservedBytes - self;
    const externalBytes = Math.max(0, totalBytes - freeBytes - self - others);
    turn.state.devices[name] = { ...device, ...turn.state.devices[name], externalBytes };
  }
}

/** A device that has just been heard of. */
export function newDevice(name: DeviceName, kind: DeviceKind, totalBytes: number): Device {
  return {
    name,
    kind,
    description: '',
    totalBytes,
    marginBytes: 0,
    marginSet: false,
    externalBytes: 0,
    sample: null,
    source: '',
    remark: '',
    foreign: [],
    problem: null,
    problemSince: null,
  };
}

/** ggml's names of devices, by backend: RPC servers are elsewhere, Metal shares system memory. */
function kindOf(name: DeviceName): DeviceKind {
  if (name.startsWith('RPC')) return 'remote';
  return name.startsWith('Metal') || name.startsWith('MTL') ? 'unified' : 'discrete';
}
