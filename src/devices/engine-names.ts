import type { DeviceName } from '../scheduler/units.js';
import type { CombinedSample } from './combined-probe.js';

const UNKNOWN_TO_ENGINE = 'the engine has no device of this name: what models hold here is known by their reports only';

/**
 * A driver's name for a GPU is not always the engine's: a build for Vulkan calls `Vulkan0` what is `CUDA0` to the driver.
 * With one GPU on either side they are the same, from then on; else the order of one says nothing about that of the
 * other, and the device keeps its driver's name and says so.
 */
export class EngineNames {
  readonly #engineDevices: () => readonly DeviceName[] | null;
  #alias: { readonly from: DeviceName; readonly to: DeviceName } | null = null;
  /** Devices that were read at any time, by the engine's names where they are known. */
  readonly #read = new Set<DeviceName>();

  /** What the engine says now; null or empty: it does not tell, and is taken to use the drivers' names. */
  constructor(engineDevices: () => readonly DeviceName[] | null) {
    this.#engineDevices = engineDevices;
  }

  apply({ sample, failures }: CombinedSample): CombinedSample {
    const engineDevices = this.#engineDevices() ?? [];
    if (engineDevices.length === 0) return { sample, failures };
    const gpus = sample.devices.filter(({ kind }) => kind !== 'host').map(({ name }) => name);
    const strangers = gpus.filter((name) => !engineDevices.includes(name));
    const [from] = strangers;
    const [to] = engineDevices;
    const isPlain = gpus.length === 1 && engineDevices.length === 1;
    if (isPlain && from !== undefined && to !== undefined) this.#alias = { from, to };
    const named = (name: DeviceName): DeviceName => (name === this.#alias?.from ? this.#alias.to : name);
    const devices = sample.devices.map((device) => {
      const name = named(device.name);
      const isUnknown = strangers.includes(device.name) && name === device.name;
      return { ...device, name, ...(isUnknown ? { remark: UNKNOWN_TO_ENGINE } : {}) };
    });
    for (const { name } of devices) this.#read.add(name);
    const renamed = <T>(byName: Readonly<Record<DeviceName, T>>): Readonly<Record<DeviceName, T>> =>
      Object.fromEntries(Object.entries(byName).map(([name, value]) => [named(name), value]));
    const instances = sample.instances.map((instance) => ({ ...instance, resident: renamed(instance.resident) }));
    const activity = sample.activity === undefined ? {} : { activity: renamed(sample.activity) };
    return {
      sample: { ...sample, devices, instances, ...activity },
      failures: failures.map((failure) => ({
        ...failure,
        devices: this.#unreadNames(failure.devices.map(named), engineDevices),
      })),
    };
  }

  /** Which of the engine's devices a driver fails to show cannot be told: any that nobody has read may be meant. */
  #unreadNames(devices: readonly DeviceName[], engineDevices: readonly DeviceName[]): readonly DeviceName[] {
    const isStrange = devices.some((name) => !engineDevices.includes(name) && !this.#read.has(name));
    const unread = engineDevices.filter((name) => !this.#read.has(name));
    return isStrange && unread.length > 0 ? unread : devices;
  }
}
