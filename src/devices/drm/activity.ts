import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Millis } from '../../scheduler/units.js';
import type { DeviceActivity } from '../probe.js';
import { readNumber, type DrmCard } from './cards.js';

/** Memory may be asked for seven times a second; how busy a GPU is changes nothing, and is an average anyway. */
const KNOWN_FOR_MILLIS: Millis = 900;

/**
 * How busy cards are, as amdgpu and the kernel's sensors say. Only to be asked of a card that is awake: asking one that
 * sleeps wakes it. Source: the kernel's "GPU sysfs Power State Interfaces" (gpu_busy_percent) and hwmon's sysfs interface.
 */
export class CardActivity {
  readonly #now: () => Millis;
  readonly #known = new Map<string, { readonly at: Millis; readonly activity: DeviceActivity | null }>();

  constructor(now: () => Millis = () => performance.now()) {
    this.#now = now;
  }

  /** Null where the kernel does not tell. */
  async read(card: DrmCard): Promise<DeviceActivity | null> {
    const known = this.#known.get(card.pci);
    if (known !== undefined && this.#now() - known.at < KNOWN_FOR_MILLIS) return known.activity;
    const activity = await readActivity(card);
    this.#known.set(card.pci, { at: this.#now(), activity });
    return activity;
  }
}

async function readActivity({ directory }: DrmCard): Promise<DeviceActivity | null> {
  const sensors = join(directory, 'hwmon');
  const [sensor = ''] = await readdir(sensors).catch(() => []);
  const figure = (name: string): Promise<number | null> => readNumber(join(sensors, sensor, name));
  const busy = await readNumber(join(directory, 'gpu_busy_percent'));
  const milliCelsius = await figure('temp1_input');
  const microwatts = (await figure('power1_average')) ?? (await figure('power1_input'));
  if (busy === null && milliCelsius === null && microwatts === null) return null;
  return {
    utilizationPercent: busy,
    temperatureCelsius: milliCelsius === null ? null : milliCelsius / 1000,
    powerMilliwatts: microwatts === null ? null : Math.round(microwatts / 1000),
  };
}
