import { bytesOn } from './amounts.js';
import type { DeviceFigures } from './decisions.js';
import { runningOf } from './running.js';
import type { Device, Instance, Model, Placement, State } from './state.js';
import { HOST, type Bytes, type DeviceBytes, type DeviceName } from './units.js';

/** What is promised and held on one device, before anything is cut off at its total. */
export interface Account {
  readonly device: Device;
  readonly heldBytes: Bytes;
  readonly reservedBytes: Bytes;
  /** Part of held: memory of exited instances that is not yet seen to be back. */
  readonly releasingBytes: Bytes;
  /** Part of held: what draining, stopping and exited instances will give back. */
  readonly leavingBytes: Bytes;
  /** Part of reserved: what a measuring child takes for a moment. The margin is there for that. */
  readonly passingBytes: Bytes;
}

/** An account for every known device, computed from nothing but the state. */
export type Ledger = Readonly<Record<DeviceName, Account>>;

/** The parts of a device: held + reserved + external + free = total, all ≥ 0. */
export interface DeviceParts {
  readonly heldBytes: Bytes;
  readonly reservedBytes: Bytes;
  readonly externalBytes: Bytes;
  readonly freeBytes: Bytes;
  readonly overcommitBytes: Bytes;
}

type LedgerState = Pick<State, 'devices' | 'models' | 'running' | 'releases' | 'measuring'>;

/**
 * Adds up every instance's claim, device by device. A loading instance holds what is seen of it already and reserves
 * the rest; every other one holds its claim.
 */
export function ledgerOf(state: LedgerState): Ledger {
  const sums: Record<DeviceName, { held: Bytes; reserved: Bytes; releasing: Bytes; leaving: Bytes }> = {};
  for (const name of Object.keys(state.devices)) sums[name] = { held: 0, reserved: 0, releasing: 0, leaving: 0 };

  for (const [, instance] of runningOf(state)) {
    for (const [device, claim] of Object.entries(instance.claim)) {
      const sum = sums[device];
      if (sum === undefined) continue;
      if (instance.phase === 'loading') {
        const visible = Math.min(claim, bytesOn(instance.resident, device));
        sum.held += visible;
        sum.reserved += claim - visible;
      } else {
        sum.held += claim;
        if (isLeaving(instance)) sum.leaving += claim;
      }
    }
  }
  for (const release of state.releases) {
    for (const [device, bytes] of Object.entries(release.held)) {
      const sum = sums[device];
      if (sum === undefined) continue;
      sum.held += bytes;
      sum.releasing += bytes;
      sum.leaving += bytes;
    }
  }

  const ledger: Record<DeviceName, Account> = {};
  for (const [name, device] of Object.entries(state.devices)) {
    const sum = sums[name] ?? { held: 0, reserved: 0, releasing: 0, leaving: 0 };
    const passingBytes = bytesOn(state.measuring?.claim ?? {}, name);
    ledger[name] = {
      device,
      heldBytes: sum.held,
      reservedBytes: sum.reserved + passingBytes,
      releasingBytes: sum.releasing,
      leavingBytes: sum.leaving,
      passingBytes,
    };
  }
  return ledger;
}

/** True for an instance that is on its way out and takes no new work. */
export function isLeaving(instance: Instance): boolean {
  return instance.phase === 'stopping' || instance.draining !== null;
}

/** What decides fits: total − external − claims of instances − margin. Negative when overcommitted. */
export function availableBytes(account: Account): number {
  const { device, heldBytes, reservedBytes, passingBytes } = account;
  return device.totalBytes - device.externalBytes - heldBytes - (reservedBytes - passingBytes) - device.marginBytes;
}

/** What is free for something that passes: the margin is there for that, but not twice. */
export function passingRoomBytes(account: Account): number {
  return availableBytes(account) + account.device.marginBytes - account.passingBytes;
}

/** True when memory limits loads on this device; a margin of 0 switches that off, as in llama-server. */
export function limitsLoads(device: Device): boolean {
  return device.marginBytes > 0;
}

/**
 * The four parts that add up to the total. Promises beyond the device are cut off and stated as overcommit: first what
 * is only reserved, then what is held, so that what others are seen to use stays as measured.
 */
export function partsOf(account: Account): DeviceParts {
  const { totalBytes } = account.device;
  const externalBytes = Math.min(account.device.externalBytes, totalBytes);
  const heldBytes = Math.min(account.heldBytes, totalBytes - externalBytes);
  const reservedBytes = Math.min(account.reservedBytes, totalBytes - externalBytes - heldBytes);
  const promised = account.device.externalBytes + account.heldBytes + account.reservedBytes;
  return {
    heldBytes,
    reservedBytes,
    externalBytes,
    freeBytes: totalBytes - externalBytes - heldBytes - reservedBytes,
    overcommitBytes: Math.max(0, promised - totalBytes),
  };
}

/** The figures of one device for a decision record. */
export function figuresOf(account: Account, needBytes: Bytes): DeviceFigures {
  const { heldBytes, reservedBytes, externalBytes, freeBytes } = partsOf(account);
  const available = availableBytes(account);
  return {
    device: account.device.name,
    totalBytes: account.device.totalBytes,
    heldBytes,
    reservedBytes,
    externalBytes,
    freeBytes,
    marginBytes: account.device.marginBytes,
    availableBytes: available,
    needBytes,
    deficitBytes: limitsLoads(account.device) && needBytes > 0 ? Math.max(0, needBytes - available) : 0,
  };
}

/** What one model could have on a device if nothing else of ours were there; no limit where memory limits nothing. */
export function roomWhenAlone(device: Device | undefined): Bytes {
  if (device === undefined || !limitsLoads(device)) return Number.MAX_SAFE_INTEGER;
  return Math.max(0, device.totalBytes - device.externalBytes - device.marginBytes);
}

/** What a model is counted for when it is laid out this way: the best that is known, raised where that was too little. */
export function claimFor(
  devices: State['devices'],
  model: Model,
  placement: Placement,
): Pick<Instance, 'claim' | 'claimQuality'> {
  const observed = model.observed !== null && sameDeviceSet(model.observed, placement.need) ? model.observed : null;
  const known = observed ?? placement.need;
  return {
    claim: model.raised === null ? known : raise(devices, known, model.raised),
    claimQuality: observed === null ? placement.quality : 'observed',
  };
}

/**
 * What was too little on one accelerator is too little on any other. It is a guess: it never makes a model too large for
 * a device that has room for what is known of it.
 */
function raise(devices: State['devices'], known: DeviceBytes, raised: DeviceBytes): DeviceBytes {
  const onAccelerators = Object.keys(raised).filter((name) => name !== HOST);
  const more = Math.max(0, ...onAccelerators.map((name) => bytesOn(raised, name)));
  return Object.fromEntries(
    Object.entries(known).map(([name, bytes]) => {
      const wanted = bytes === 0 ? 0 : bytes + (name === HOST ? bytesOn(raised, HOST) : more);
      return [name, Math.max(bytes, Math.min(wanted, roomWhenAlone(devices[name])))];
    }),
  );
}

/** The host counts only where it is alone: every process holds a little of it, wherever its weights are. */
export function sameDeviceSet(a: DeviceBytes, b: DeviceBytes): boolean {
  const devicesOf = (amounts: DeviceBytes): string => {
    const all = Object.keys(amounts).filter((device) => bytesOn(amounts, device) > 0);
    const others = all.filter((device) => device !== HOST);
    return (others.length > 0 ? others : all).sort().join('\n');
  };
  return devicesOf(a) === devicesOf(b);
}
