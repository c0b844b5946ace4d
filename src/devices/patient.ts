import type { ProbeFailure } from '../scheduler/events.js';
import type { DeviceName, Millis } from '../scheduler/units.js';
import type { DeviceProbe, ProbeSample, ProcessTree } from './probe.js';

/** What a probe came to in the time that it was given. */
export type Outcome =
  { readonly sample: ProbeSample; readonly failure: null } | { readonly sample: null; readonly failure: ProbeFailure };

/** So long others wait for a probe; the first time a driver may have to be started. */
const PATIENCE_MILLIS: Millis = 2500;
const FIRST_PATIENCE_MILLIS: Millis = 10_000;
/** The same for one that failed the last time. */
const IMPATIENCE_MILLIS: Millis = 200;

/**
 * A probe that keeps nobody waiting: what it has not said in time counts as failed, and is not waited for again until it
 * has been. Remembers which devices it served, so that they can be told apart from those that never were.
 */
export class Patient {
  readonly probe: DeviceProbe;
  readonly #patienceMillis: Millis;
  readonly #firstPatienceMillis: Millis;
  #served: readonly DeviceName[] = [];
  #hasAnswered = false;
  /** Why it could not be read the last time; null when it could. */
  #lastFailure: ProbeFailure | null = null;
  #pending: Promise<Outcome> | null = null;

  constructor(
    probe: DeviceProbe,
    patienceMillis: Millis = PATIENCE_MILLIS,
    firstPatienceMillis: Millis = FIRST_PATIENCE_MILLIS,
  ) {
    this.probe = probe;
    this.#patienceMillis = patienceMillis;
    this.#firstPatienceMillis = firstPatienceMillis;
  }

  async sample(trees: readonly ProcessTree[]): Promise<Outcome> {
    if (this.#pending !== null) return this.#late();
    const limit = this.#limit();
    const pending = this.#ask(trees).finally(() => (this.#pending = null));
    this.#pending = pending;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Outcome>((resolve) => {
      timer = setTimeout(() => resolve(this.#late()), limit);
    });
    const outcome = await Promise.race([pending, late]);
    clearTimeout(timer);
    // One that kept everybody waiting once is not waited for that long again.
    this.#hasAnswered = true;
    return outcome;
  }

  #limit(): Millis {
    if (this.#lastFailure !== null) return Math.min(IMPATIENCE_MILLIS, this.#patienceMillis);
    return this.#hasAnswered ? this.#patienceMillis : this.#firstPatienceMillis;
  }

  async #ask(trees: readonly ProcessTree[]): Promise<Outcome> {
    try {
      const sample = await this.probe.sample(trees);
      const named = [...sample.devices.map(({ name }) => name), ...(sample.failures ?? []).flatMap((f) => f.devices)];
      this.#served = [...new Set(named)];
      this.#lastFailure = null;
      return { sample, failure: null };
    } catch (error) {
      return this.#failed(error instanceof Error ? error.message : String(error));
    }
  }

  #late(): Outcome {
    // Its own words say more.
    if (this.#lastFailure !== null) return { sample: null, failure: this.#lastFailure };
    return this.#failed('no answer yet; the driver hangs, or is very slow');
  }

  #failed(message: string): Outcome {
    const devices = this.#served.length > 0 ? this.#served : (this.probe.expects?.(message) ?? []);
    this.#lastFailure = { devices, message: `${this.probe.name}: ${message}` };
    return { sample: null, failure: this.#lastFailure };
  }
}
