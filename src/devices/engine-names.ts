import type { DeviceName } from '../scheduler/units.js';
import type { CombinedSample } from './combined-probe.js';

const UNKNOWN_TO_ENGINE = 'the engine has no device of this name: what models hold here is known by their reports only';

/**
 * A driver's name for a GPU is not always the engine's: a build for Vulkan calls `Vulkan0` what is `CUDA0` to the driver.
 * With one GPU on either side they are the same, from then on; else the order of one says nothing about that of the
 * other, and the device keeps its driver's name and says so.
 */
export class EngineNames {
  readonly #engineDevices: readonly DeviceName[];
  #alias: { readonly from: DeviceName; readonly to: DeviceName } | null = null;

  /** Null or empty: the engine does not tell, and is taken to use the drivers' names. */
  constructor(engineDevices: readonly DeviceName[] | null) {
    this.#engineDevices = engineDevices ?? [];
  }

  apply({ sample, failures }: CombinedSample): CombinedSample {
    if (this.#engineDevices.length === 0) return { sample, failures };
    const gpus = sample.devices.filter(({ kind }) => kind !== 'host').map(({ name }) => name);
    const strangers = gpus.filter((name) => !this.#engineDevices.includes(name));
    const [from] = strangers;
    const [to] = this.#engineDevices;
    const isPlain = gpus.length === 1 && this.#engineDevices.length === 1;
    if (isPlain && from !== undefined && to !== undefined) this.#alias = { from, to };
    const named = (name: DeviceName): DeviceName => (name === this.#alias?.from ? this.#alias.to : name);
    const devices = sample.devices.map((device) => {
      const name = named(device.name);
      const isUnknown = strangers.includes(device.name) && name === device.name;
      return { ...device, name, ...(isUnknown ? { remark: UNKNOWN_TO_ENGINE } : {}) };
    });
    const renamed = <T>(byName: Readonly<Record<DeviceName, T>>): Readonly<Record<DeviceName, T>> =>
      Object.fromEntries(Object.entries(byName).map(([name, value]) => [named(name), value]));
    const instances = sample.instances.map((instance) => ({ ...instance, resident: renamed(instance.resident) }));
    const activity = sample.activity === undefined ? {} : { activity: renamed(sample.activity) };
    return {
      sample: { ...sample, devices, instances, ...activity },
      failures: failures.map((failure) => ({ ...failure, devices: failure.devices.map(named) })),
    };
  }
}
