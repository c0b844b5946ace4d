import type { DeviceReport } from '../scheduler/events.js';
import { HOST, type Bytes, type DeviceBytes, type DeviceName } from '../scheduler/units.js';
import type { SimModel } from './config.js';
import type { Pool } from './pool.js';

type Pools = ReadonlyMap<DeviceName, Pool>;

/** A child that sizes itself to what is free gets along with this share of what it would like to have. */
const LEAST_SHARE = 0.4;

/** What a model will hold where it was told to go; where it has no choice, that is the first way. */
export function needOf(model: SimModel, devices: readonly DeviceName[] | null): DeviceBytes {
  const goesTo = (need: DeviceBytes): boolean => {
    const names = Object.keys(need).filter((name) => name !== HOST);
    return devices !== null && names.length === devices.length && names.every((name) => devices.includes(name));
  };
  return model.needs.find(goesTo) ?? model.needs[0] ?? {};
}

/** What a child chooses that sizes itself to what it finds free. */
export function shrunk(need: DeviceBytes, pools: Pools): DeviceBytes {
  return Object.fromEntries(
    Object.entries(need).map(([name, bytes]) => {
      const free = pools.get(name)?.freeBytes ?? bytes;
      return [name, Math.max(Math.floor(bytes * LEAST_SHARE), Math.min(bytes, Math.floor(free * 0.95)))];
    }),
  );
}

/** What children say of devices that no probe serves. */
export function reportsOf(pools: Pools): readonly DeviceReport[] {
  return [...pools.values()]
    .filter((pool) => pool.device.probe === 'none')
    .map((pool) => ({ name: pool.device.name, totalBytes: pool.device.totalBytes, freeBytes: pool.freeBytes }));
}

export function share(amounts: DeviceBytes, part: number): DeviceBytes {
  return Object.fromEntries(Object.entries(amounts).map(([name, bytes]) => [name, Math.floor(bytes * part)]));
}

export function less(a: DeviceBytes, b: DeviceBytes): DeviceBytes {
  return Object.fromEntries(Object.entries(a).map(([name, bytes]) => [name, bytes - (b[name] ?? 0)]));
}

export function sum(a: DeviceBytes, b: DeviceBytes): DeviceBytes {
  const all: Record<DeviceName, Bytes> = { ...a };
  for (const [name, bytes] of Object.entries(b)) all[name] = (all[name] ?? 0) + bytes;
  return all;
}
