import type { Bytes, DeviceBytes, DeviceName } from './units.js';

/** What the record says for the device, 0 where it does not name it. */
export function bytesOn(amounts: DeviceBytes, device: DeviceName): Bytes {
  return Object.hasOwn(amounts, device) ? (amounts[device] ?? 0) : 0;
}

/** The larger amount on each device that either record names. */
export function largerOf(a: DeviceBytes, b: DeviceBytes): DeviceBytes {
  const larger: Record<DeviceName, Bytes> = { ...a };
  for (const [device, bytes] of Object.entries(b)) larger[device] = Math.max(bytesOn(a, device), bytes);
  return larger;
}

/** All devices together. */
export function sumOf(amounts: DeviceBytes): Bytes {
  return Object.values(amounts).reduce((sum, bytes) => sum + bytes, 0);
}

/** True for a figure that can be believed: finite, not negative, within what an integer can count. */
export function isAmount(bytes: number): boolean {
  return Number.isSafeInteger(bytes) && bytes >= 0;
}

/** The entries whose figures can be believed. */
export function believable(amounts: DeviceBytes): DeviceBytes {
  return Object.fromEntries(Object.entries(amounts).filter(([, bytes]) => isAmount(bytes)));
}

/** True when both name the same devices with the same amounts. */
export function sameAmounts(a: DeviceBytes, b: DeviceBytes): boolean {
  const devices = Object.keys(a);
  return (
    devices.length === Object.keys(b).length &&
    devices.every((device) => Object.hasOwn(b, device) && a[device] === b[device])
  );
}

/** True when both name the same devices. */
export function sameDevices(a: DeviceBytes, b: DeviceBytes): boolean {
  const devices = Object.keys(a);
  return devices.length === Object.keys(b).length && devices.every((device) => Object.hasOwn(b, device));
}
