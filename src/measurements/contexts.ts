import type { DeviceReading } from '../scheduler/events.js';
import { MIB, type Bytes, type DeviceBytes, type DeviceName } from '../scheduler/units.js';
import type { MeasurementStore } from './store.js';

/** More than this is no driver's part: the tables were wrong. */
const LARGEST_CONTEXT_BYTES: Bytes = 2048 * MIB;
/** Looks that are kept of one device; the largest counts, and an odd one is forgotten in time. */
const LOOKS_KEPT = 8;

export interface ContextsOptions {
  /** Whose children they are: another build may take more or less. */
  readonly engine: {
    readonly name: string;
    readonly build?: string;
    contextGuess?(device: DeviceReading): Bytes;
  };
  readonly store: Pick<MeasurementStore, 'looks' | 'putLooks'>;
  /** The devices of this machine. */
  readonly devices: () => readonly DeviceReading[];
}

/**
 * What a process takes on each device besides the buffers that its tables count: the driver's context, kernels and
 * scratch. It is the same for every model, more or less, so one that was seen tells for all; before that it is guessed.
 */
export class Contexts {
  readonly #options: ContextsOptions;

  constructor(options: ContextsOptions) {
    this.#options = options;
  }

  /**
   * The part of a need that no table counts.
   * @param told true when the child is told which devices to use: it leaves the others alone
   */
  of(need: DeviceBytes, told: boolean): DeviceBytes {
    const used = Object.keys(need).filter((name) => (need[name] ?? 0) > 0);
    if (used.length === 0) return {};
    // One that was never read (its size is not known) takes no context of a child that has no use for it.
    const taken = this.#accelerators().filter(({ name, totalBytes }) => {
      return used.includes(name) || (!told && totalBytes > 0);
    });
    const parts = taken.map((device) => [device.name, this.#bytesOn(device)] as const);
    return Object.fromEntries(parts.filter(([, bytes]) => bytes > 0));
  }

  /** A need with that part. */
  addTo(need: DeviceBytes, told: boolean): DeviceBytes {
    const sum: Record<DeviceName, Bytes> = { ...need };
    for (const [name, bytes] of Object.entries(this.of(need, told))) sum[name] = (sum[name] ?? 0) + bytes;
    return sum;
  }

  /**
   * What a program takes on a device that only asks how much is free there: no more than is usual, since what was seen of
   * models has their kernels and scratch in it.
   */
  ofAsking(name: DeviceName): Bytes {
    const device = this.#accelerators().find((other) => other.name === name);
    return device === undefined ? 0 : Math.min(this.#bytesOn(device), this.#guessOn(device));
  }

  /**
   * Takes in what a process was seen to hold on a device, and what its tables say of it. True when more or less is known
   * to be taken there than before.
   * @param exact false when the tables were converted from another layout: they say too much then rather than too
   *   little, so that what is left over tells only that no less is taken
   */
  learn(name: DeviceName, residentBytes: Bytes, tableBytes: Bytes, exact: boolean): boolean {
    const device = this.#accelerators().find((other) => other.name === name);
    const taken = residentBytes - tableBytes;
    // Less than its tables say: they are of another layout.
    if (device === undefined || taken < 0 || taken > LARGEST_CONTEXT_BYTES) return false;
    const before = this.#bytesOn(device);
    if (!exact && taken <= before) return false;
    const key = this.#keyOf(device);
    this.#options.store.putLooks(key, [...this.#options.store.looks(key), taken].slice(-LOOKS_KEPT));
    return Math.abs(this.#bytesOn(device) - before) >= MIB;
  }

  /** As seen there, or on another card of the same kind; else guessed. */
  #bytesOn(device: DeviceReading): Bytes {
    const { description, totalBytes } = device;
    const alike = this.#accelerators().filter((other) => {
      return other.description === description && other.totalBytes === totalBytes;
    });
    const looks = alike.flatMap((other) => this.#options.store.looks(this.#keyOf(other)));
    return looks.length > 0 ? Math.max(...looks) : this.#guessOn(device);
  }

  #guessOn(device: DeviceReading): Bytes {
    return this.#options.engine.contextGuess?.(device) ?? 0;
  }

  #accelerators(): readonly DeviceReading[] {
    return this.#options.devices().filter(({ kind }) => kind === 'discrete' || kind === 'unified');
  }

  #keyOf({ name, description, totalBytes }: DeviceReading): string {
    const { engine } = this.#options;
    return JSON.stringify([engine.name, engine.build ?? '', name, description, totalBytes]);
  }
}
