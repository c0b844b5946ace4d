import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CatalogEntry } from '../../src/catalog/entry.js';
import type { ProbeSample } from '../../src/devices/probe.js';
import type { SimDevice } from '../../src/devices/sim-ledger.js';
import { createSimProbe } from '../../src/devices/sim-probe.js';
import type { Engine } from '../../src/engines/engine.js';
import { freePort } from '../../src/engines/free-port.js';
import { createSimEngine } from '../../src/engines/sim/engine.js';
import type { Millis } from '../../src/scheduler/units.js';
import { watch, type Watched } from './node-child.js';
import { bareEntry } from './bare-entry.js';

/** An entry of the catalog with the given options and no file. */
export function simEntry(id: string, options: Readonly<Record<string, string>>): CatalogEntry {
  const list = Object.entries(options).map(([name, value]) => ({ name, value }));
  return bareEntry(id, { options: list, args: list.flatMap(({ name, value }) => [`--${name}`, value]) });
}

export interface SimChild extends Watched {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
}

/** Simulated devices with a ledger of their own, an engine and a probe for them, and the children started here. */
export class SimWorld {
  readonly ledgerDirectory: string = mkdtempSync(join(tmpdir(), 'sim-ledger-'));
  readonly engine: Engine;
  readonly #probe: ReturnType<typeof createSimProbe>;
  readonly #children: SimChild[] = [];

  constructor(devices: readonly SimDevice[], releaseMillis: Millis = 700) {
    const { ledgerDirectory } = this;
    this.engine = createSimEngine({ reason: 'a test', devices, ledgerDirectory });
    this.#probe = createSimProbe({ devices, ledgerDirectory, releaseMillis });
  }

  async start(
    id: string,
    options: Readonly<Record<string, string>>,
    devices: readonly string[] | null = null,
  ): Promise<SimChild> {
    const port = await freePort();
    const watched = watch(this.engine.command({ entry: simEntry(id, options), port, devices, role: 'instance' }));
    const child = { ...watched, pid: watched.handle.pid ?? 0, port, url: `http://127.0.0.1:${port}` };
    this.#children.push(child);
    return child;
  }

  /** What the probe sees; each child is its own model, of generation 1. */
  sample(): Promise<ProbeSample> {
    const trees = this.#children.map(({ pid }) => ({ model: String(pid), generation: 1, pids: [pid] }));
    return this.#probe.sample(trees);
  }

  async used(device: string): Promise<number> {
    const { devices } = await this.sample();
    return devices.find(({ name }) => name === device)?.usedBytes ?? NaN;
  }

  async end(): Promise<void> {
    for (const { handle, exited } of this.#children) {
      handle.kill();
      await exited;
    }
  }
}
