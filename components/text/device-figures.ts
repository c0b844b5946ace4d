import type { DeviceView } from '../../src/client/types.js';
import { sharesOf } from './shares.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** Devices smaller than this are told in whole MiB: a tenth of a GiB would hide what happens on them. */
const SMALL_DEVICE = 4 * GIB;

/** A device's ledger as text; the four parts, as shown, add up to the total as shown. */
export interface DeviceFiguresText {
  readonly held: string;
  readonly reserved: string;
  readonly external: string;
  readonly free: string;
  readonly total: string;
  readonly unit: 'GiB' | 'MiB';
}

/** Rounds the four parts together, since four numbers rounded apart do not add up. */
export function deviceFigures(device: DeviceView): DeviceFiguresText {
  const small = device.totalBytes < SMALL_DEVICE;
  const step = small ? MIB : GIB / 10;
  const parts = [device.heldBytes, device.reservedBytes, device.externalBytes, device.freeBytes];
  const [held = 0, reserved = 0, external = 0, free = 0] = roundTogether(parts, device.totalBytes, step);
  const text = (steps: number): string => (small ? String(steps) : (steps / 10).toFixed(1));
  return {
    held: text(held),
    reserved: text(reserved),
    external: text(external),
    free: text(free),
    total: text(Math.round(device.totalBytes / step)),
    unit: small ? 'MiB' : 'GiB',
  };
}

function roundTogether(parts: readonly number[], totalBytes: number, step: number): number[] {
  const sum = parts.reduce((total, part) => total + part, 0);
  // A ledger that does not add up is shown as it came: bending it would hide the fault.
  if (sum !== totalBytes) return parts.map((part) => Math.round(part / step));
  return sharesOf(parts, Math.round(totalBytes / step));
}
