import { createEmbeddedEngine } from './embedded/engine.js';
import type { Engine } from './engine.js';
import type { BinaryCache } from './llama-server/binary-cache.js';
import { findLlamaServer } from './llama-server/find-binary.js';
import { createLlamaServerEngine } from './llama-server/engine.js';
import { createSimEngine } from './sim/engine.js';
import { parseSimDevices } from './sim/parse-sim-devices.js';
import type { SimDevice } from '../devices/sim-ledger.js';

export interface EngineChoice {
  readonly engine: 'auto' | Engine['name'];
  /** Path given by the user, or null to look for it. */
  readonly llamaServer: string | null;
  /** As given, e.g. `CUDA0=24GiB,CUDA1=24GiB`. */
  readonly simDevices: string | null;
  readonly simLedgerDirectory: string;
  /** What programs have said of themselves before. */
  readonly binaries?: BinaryCache;
}

export interface ChosenEngine {
  readonly engine: Engine;
  /** The simulated devices, when the engine simulates. */
  readonly sim: readonly SimDevice[] | null;
}

/** Devices of the sim engine where none are given: enough for one large model and some small ones. */
const DEFAULT_SIM_DEVICES = 'CUDA0=24GiB,CUDA1=24GiB';

/** Picks how models are run: as told, else a llama-server where there is one, else the engine in the box. */
export async function chooseEngine(choice: EngineChoice): Promise<ChosenEngine> {
  if (choice.engine === 'sim') {
    const devices = parseSimDevices(choice.simDevices ?? DEFAULT_SIM_DEVICES);
    const reason = 'chosen with --engine sim';
    return { engine: createSimEngine({ reason, devices, ledgerDirectory: choice.simLedgerDirectory }), sim: devices };
  }
  if (choice.simDevices !== null) throw new Error('--sim-devices goes with --engine sim.');
  if (choice.engine === 'embedded')
    return { engine: createEmbeddedEngine({ reason: 'chosen with --engine embedded' }), sim: null };

  const found = await findLlamaServer(choice.llamaServer, process.env, choice.binaries);
  if (found !== null) return { engine: createLlamaServerEngine(found), sim: null };
  if (choice.engine === 'llama-server') {
    throw new Error('No llama-server was found in PATH; give its path with --llama-server.');
  }
  if (!embeddedInstalled()) {
    throw new Error(
      'There is neither a llama-server in PATH nor the optional package node-llama-cpp; install one of them.',
    );
  }
  return { engine: createEmbeddedEngine({ reason: 'no llama-server in PATH' }), sim: null };
}

function embeddedInstalled(): boolean {
  try {
    import.meta.resolve('node-llama-cpp');
    return true;
  } catch {
    return false;
  }
}
