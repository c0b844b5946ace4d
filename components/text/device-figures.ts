import type { Bytes } from '../../src/client/types.js';
import { sharesOf } from './shares.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** Devices smaller than this are told in whole MiB: a tenth of a GiB would hide what happens on them. */
const SMALL_DEVICE = 4 * GIB;

/** The ledger of a device, as it is now or as a decision has recorded it. */
export interface DeviceLedger {
  readonly totalBytes: Bytes;
  readonly heldBytes: Bytes;
  readonly reservedBytes: Bytes;
  readonly externalBytes: Bytes;
  readonly freeBytes: Bytes;
}

/** A device's ledger as text; the four parts, as shown, add up to the total as shown. */
export interface DeviceFiguresText {
  readonly held: string;
  readonly reserved: string;
  readonly external: string;
  readonly free: string;
  readonly total: string;
  readonly unit: 'GiB' | 'MiB';
}

/**
 * Rounds the four parts together, since four numbers rounded apart do not add up. What is held is read beside the model
 * that holds it, and rounded as that is; the others make up for it.
 */
export function deviceFigures(device: DeviceLedger): DeviceFiguresText {
  const { step, unit, text } = scaleOf(device);
  const parts = [device.heldBytes, device.reservedBytes, device.externalBytes, device.freeBytes];
  const [held = 0, reserved = 0, external = 0, free = 0] = roundTogether(parts, device.totalBytes, step);
  return {
    held: text(held),
    reserved: text(reserved),
    external: text(external),
    free: text(free),
    total: text(Math.round(device.totalBytes / step)),
    unit,
  };
}

/** What a model needs of a device, in the device's unit; what is short is what is needed less what is available. */
export interface DemandText {
  readonly need: string;
  readonly available: string;
  readonly short: string;
  readonly margin: string;
}

/** Rounds what is needed and what is short, which is never nothing where something is; the rest follows. */
export function demandFigures(
  device: DeviceLedger & {
    readonly needBytes: Bytes;
    readonly availableBytes: number;
    readonly deficitBytes: Bytes;
    readonly marginBytes: Bytes;
  },
): DemandText {
  const { step, text } = scaleOf(device);
  const need = Math.round(device.needBytes / step);
  const short = device.deficitBytes > 0 ? Math.max(1, Math.round(device.deficitBytes / step)) : 0;
  const follows = short > 0 && device.needBytes - device.availableBytes === device.deficitBytes;
  const available = follows ? need - short : Math.round(device.availableBytes / step);
  return {
    need: text(need),
    // Rounding may give minus zero.
    available: text(available + 0),
    short: text(short),
    margin: text(Math.round(device.marginBytes / step)),
  };
}

/** The unit that a device of this size is told in, and how a whole number of its steps is written. */
function scaleOf(device: DeviceLedger): {
  readonly step: Bytes;
  readonly unit: DeviceFiguresText['unit'];
  readonly text: (steps: number) => string;
} {
  return device.totalBytes < SMALL_DEVICE
    ? { step: MIB, unit: 'MiB', text: String }
    : { step: GIB / 10, unit: 'GiB', text: (steps) => (steps / 10).toFixed(1) };
}

function roundTogether(parts: readonly number[], totalBytes: number, step: number): number[] {
  const sum = parts.reduce((total, part) => total + part, 0);
  // A ledger that does not add up is shown as it came: bending it would hide the fault.
  if (sum !== totalBytes) return parts.map((part) => Math.round(part / step));
  const whole = Math.round(totalBytes / step);
  const [held = 0, ...others] = parts;
  if (held === sum) return sharesOf(parts, whole);
  const heldSteps = Math.round(held / step);
  return [heldSteps, ...sharesOf(others, whole - heldSteps)];
}
