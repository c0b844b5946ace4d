import { dirname, join } from 'node:path';
import type { CatalogEntry } from '../../catalog/entry.js';
import { formatSimDevices } from './parse-sim-devices.js';
import type { SimDevice } from '../../devices/sim-ledger.js';
import type { Placement } from '../../scheduler/state.js';
import { childEnvironment } from '../child-environment.js';
import { classifyExit } from '../classify-exit.js';
import type { Command, Engine, Launch } from '../engine.js';
import { measureByRole } from '../measure-by-role.js';
import { createProtocolReader } from '../protocol.js';
import { DEVICES_VARIABLE, LEDGER_VARIABLE, readSimSettings, SIM_OPTIONS, splitEvenly } from './options.js';

export interface SimEngineOptions {
  readonly reason: string;
  /** At least one. */
  readonly devices: readonly SimDevice[];
  /** Where each simulated child writes what it holds; the sim probe reads the same directory. */
  readonly ledgerDirectory: string;
  /** The program of a child; by default the one that belongs to this build. */
  readonly childFile?: string;
  /** Default: the Node that runs this. */
  readonly nodePath?: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Models without weights on devices without silicon: real child processes that take llama-server's flags,
 * speak its protocol and answer its requests with canned words. For demos, tests and scenarios.
 */
export function createSimEngine(options: SimEngineOptions): Engine {
  const { devices, ledgerDirectory, childFile = builtChildFile(), nodePath = process.execPath } = options;
  const command = ({ entry, port, devices: chosen, role }: Launch): Command => {
    const own = entry.options.some(({ name }) => name === 'device');
    const placed = chosen === null || own ? [] : ['--device', chosen.join(',')];
    return {
      file: nodePath,
      args: [
        // Small and quick: it holds no data worth a large heap.
        '--max-semi-space-size=1',
        childFile,
        ...entry.args,
        ...['--host', '127.0.0.1', '--port', String(port), '--alias', entry.id],
        ...placed,
      ],
      env: {
        ...childEnvironment(options.environment ?? process.env, { port, childRole: role }),
        [LEDGER_VARIABLE]: ledgerDirectory,
        [DEVICES_VARIABLE]: formatSimDevices(devices),
      },
    };
  };
  const spoken = { reader: createProtocolReader, classify: classifyExit };
  return {
    name: 'sim',
    reason: options.reason,
    simulated: true,
    options: SIM_OPTIONS,
    capabilities: () => ({ measure: true, sleep: true, park: true }),
    command,
    ...spoken,
    estimate: (entry) => estimate(entry, devices),
    measure: (launch) => measureByRole(command({ ...launch, role: 'measure' }), spoken),
  };
}

/** One device of its own choice: each alone, then all of them together. */
function estimate(entry: CatalogEntry, devices: readonly SimDevice[]): readonly Placement[] {
  const nothing: Placement = { need: {}, quality: 'estimate' };
  try {
    const settings = readSimSettings(entry.options);
    const place = (names: readonly string[]): Placement => ({
      need: splitEvenly(settings.sizeBytes, names),
      quality: 'estimate',
    });
    if (settings.devices.length > 0) return [place(settings.devices)];
    const names = devices.map(({ name }) => name);
    const alone = names.map((name) => place([name]));
    return names.length > 1 ? [...alone, place(names)] : alone;
  } catch {
    // The child itself will say what is wrong with its options.
    return [nothing];
  }
}

/** Run from source, as tests do, the child is the one that was built last: Node cannot run it from source. */
function builtChildFile(): string {
  const here = import.meta.dirname;
  if (!import.meta.filename.endsWith('.ts')) return join(here, 'child.js');
  return join(dirname(dirname(dirname(here))), 'dist', 'src', 'engines', 'sim', 'child.js');
}
