import type { DeviceReading, EventBody, InstanceReading } from '../scheduler/events.js';
import type { Bytes, DeviceName } from '../scheduler/units.js';
import type { Hub } from './hub.js';
import type { Pool } from './pool.js';

type Sample = Extract<EventBody, { type: 'sample' }>;

const ABSURD_FIGURES: readonly number[] = [Number.NaN, -1, Infinity, 2 ** 60, 0.5];

/** Looks at the devices again and again, and tells what it saw, sometimes late, sometimes wrongly. */
export class Probes {
  readonly #hub: Hub;
  /** Processes are known by their generations, which are below zero for measuring children. */
  readonly #modelOf: (process: number) => string | null;
  readonly #onSample: () => void;
  readonly #watched: readonly Pool[];
  #closely = false;
  #isLooking = false;
  /** What is being looked at may be older than what is asked for. */
  #lookAgain = false;
  /** Changes whenever the cadence does, so that the old one ends. */
  #cadence = 0;

  constructor(hub: Hub, modelOf: (process: number) => string | null, onSample: () => void) {
    this.#hub = hub;
    this.#modelOf = modelOf;
    this.#onSample = onSample;
    this.#watched = [...hub.pools.values()].filter((pool) => pool.device.probe !== 'none');
  }

  start(): void {
    if (this.#watched.length === 0) return;
    this.#hub.tell(this.#look());
    this.#schedule();
  }

  watchClosely(closely: boolean): void {
    this.#closely = closely;
    if (closely && this.#watched.length > 0 && !this.#isLooking) this.#schedule();
  }

  lookNow(): void {
    if (this.#watched.length === 0) return;
    this.#lookAgain = true;
    if (!this.#isLooking) this.#schedule();
  }

  #schedule(): void {
    this.#cadence += 1;
    const cadence = this.#cadence;
    const { closeMillis, restMillis } = this.#hub.config.watch;
    this.#hub.afterIdly(this.#lookAgain ? 0 : this.#closely ? closeMillis : restMillis, () => {
      if (cadence === this.#cadence) this.#takeOne();
    });
  }

  /** One at a time: the next one is taken when this one has been told, or lost. */
  #takeOne(): void {
    const { fault, random, config, afterIdly, tell } = this.#hub;
    this.#lookAgain = false;
    if (fault('sampleLost')) {
      this.#onSample();
      this.#schedule();
      return;
    }
    this.#isLooking = true;
    const sample = this.#look();
    const lag = random.between(0, config.watch.lagMillis) + (fault('sampleLate') ? random.between(100, 2000) : 0);
    afterIdly(lag, () => {
      this.#isLooking = false;
      tell(sample);
      this.#onSample();
      this.#schedule();
    });
  }

  #look(): Sample {
    const { fault, random } = this.#hub;
    const isAbsurd = fault('sampleAbsurd');
    const devices = this.#watched.map((pool): DeviceReading => {
      const { name, kind, totalBytes, probe } = pool.device;
      const figure = (bytes: Bytes): Bytes => (isAbsurd && random.chance(0.4) ? random.pick(ABSURD_FIGURES) : bytes);
      return {
        name,
        kind,
        description: `a simulated ${kind} device`,
        totalBytes: figure(totalBytes),
        usedBytes: figure(pool.shownUsed()),
        attributed: probe === 'attributed',
      };
    });
    return { type: 'sample', takenAt: this.#hub.wall(), devices, instances: this.#lookAtProcesses(isAbsurd) };
  }

  #lookAtProcesses(isAbsurd: boolean): readonly InstanceReading[] {
    const { fault, random } = this.#hub;
    if (fault('residencyLost')) return [];
    const byProcess = new Map<number, Record<DeviceName, Bytes>>();
    for (const pool of this.#watched) {
      if (pool.device.probe !== 'attributed') continue;
      for (const [process, shown] of pool.shownHoldings()) {
        const resident = byProcess.get(process) ?? {};
        resident[pool.device.name] = isAbsurd && random.chance(0.3) ? random.pick(ABSURD_FIGURES) : shown;
        byProcess.set(process, resident);
      }
    }
    return [...byProcess].flatMap(([process, resident]) => {
      const model = this.#modelOf(process);
      return model === null ? [] : [{ model, generation: process, resident }];
    });
  }
}
