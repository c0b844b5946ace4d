import type { DeviceReading, ProbeFailure } from '../scheduler/events.js';
import type { DeviceName } from '../scheduler/units.js';

/**
 * The devices of this machine, as they were first read: one that a probe loses for a while is not another machine. Those
 * that there must be although they could never be read are known by name.
 */
export class KnownDevices {
  readonly #read = new Map<DeviceName, DeviceReading>();
  #unread: readonly DeviceName[] = [];

  /** Takes a sample in. True when models may be laid out on other devices than before. */
  take(devices: readonly DeviceReading[], failures: readonly Pick<ProbeFailure, 'devices'>[]): boolean {
    const fresh = devices.filter(({ name }) => !this.#read.has(name));
    for (const device of fresh) this.#read.set(device.name, device);
    const named = new Set(failures.flatMap((failure) => failure.devices));
    const unread = [...named].filter((name) => !this.#read.has(name)).sort();
    const changed = fresh.length > 0 || unread.join('\n') !== this.#unread.join('\n');
    this.#unread = unread;
    return changed;
  }

  /** Those that were ever read. */
  get read(): readonly DeviceReading[] {
    return [...this.#read.values()];
  }

  /** With those that never were, at 0 bytes: their size is not known. */
  get all(): readonly DeviceReading[] {
    const sizes = { totalBytes: 0, usedBytes: 0, attributed: false } as const;
    return [
      ...this.read,
      ...this.#unread.map((name) => ({ name, kind: 'discrete', description: '', ...sizes }) as const),
    ];
  }
}
