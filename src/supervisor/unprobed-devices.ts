import type { Engine } from '../engines/engine.js';
import type { Contexts } from '../measurements/contexts.js';
import type { DeviceReport, EventBody, ProbeFailure } from '../scheduler/events.js';
import type { State } from '../scheduler/state.js';

export interface UnprobedDevicesOptions {
  readonly engine: Pick<Engine, 'reportDevices'>;
  /** What a program takes on a device by asking. */
  readonly contexts: Pick<Contexts, 'ofAsking'>;
  readonly state: () => Pick<State, 'shuttingDown'>;
  readonly dispatch: (event: EventBody) => void;
}

/**
 * Devices that no probe can be had for: of them the engine's program is asked, once, since a size is better than none. It
 * takes a driver's context on each before it reads what is free, which has gone with it by the time we are told: that part
 * is free again, and would count as used by others for as long as nobody reads the device. Its size is known or assumed,
 * not seen, so where others have little of a device, they may seem to have nothing.
 */
export class UnprobedDevices {
  readonly #options: UnprobedDevicesOptions;
  #asked = '';

  constructor(options: UnprobedDevicesOptions) {
    this.#options = options;
  }

  async askAbout(failures: readonly ProbeFailure[]): Promise<void> {
    const names = failures.flatMap(({ lasting = false, devices }) => (lasting ? devices : []));
    const asked = names.join('\n');
    if (asked === this.#asked) return;
    this.#asked = asked;
    if (names.length === 0) return;
    const { engine, state, dispatch } = this.#options;
    const told = (await engine.reportDevices?.()) ?? [];
    const reports = told.filter(({ name }) => names.includes(name)).map((report) => this.#withoutAsker(report));
    if (reports.length > 0 && !state().shuttingDown) dispatch({ type: 'reported', reports });
  }

  /** Never more free than there is; what makes no sense is left as it is. */
  #withoutAsker({ name, totalBytes, freeBytes }: DeviceReport): DeviceReport {
    const taken = this.#options.contexts.ofAsking(name);
    return { name, totalBytes, freeBytes: Math.max(freeBytes, Math.min(totalBytes, freeBytes + taken)) };
  }
}
