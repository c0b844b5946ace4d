import type { DeviceView, ReadDeviceView } from './types.js';

/** Those that have figures: the others could never be read. */
export function readDevices(devices: readonly DeviceView[]): readonly ReadDeviceView[] {
  return devices.filter((device) => device.totalBytes !== null);
}
