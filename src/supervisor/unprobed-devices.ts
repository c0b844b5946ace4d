import type { Engine } from '../engines/engine.js';
import type { EventBody, ProbeFailure } from '../scheduler/events.js';
import type { State } from '../scheduler/state.js';

export interface UnprobedDevicesOptions {
  readonly engine: Pick<Engine, 'reportDevices'>;
  readonly state: () => Pick<State, 'shuttingDown'>;
  readonly dispatch: (event: EventBody) => void;
}

/** Devices that no probe can be had for: of them the engine's program is asked, once, since a size is better than none. */
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
    const reports = told.filter(({ name }) => names.includes(name));
    if (reports.length > 0 && !state().shuttingDown) dispatch({ type: 'reported', reports });
  }
}
