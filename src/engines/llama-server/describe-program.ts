import type { BinaryCache, ProgramFacts } from './binary-cache.js';
import { machineStamp } from './machine.js';
import { buildOf, knowsWord, PROTOCOL_WORD, ROLE_VARIABLE } from './read-build.js';
import { readDeviceNames } from './read-devices.js';
import { readHelp } from './read-help.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What a llama-server says of itself: from the cache, where this very file has said it before, else by running it. Throws
 * an Error with one sentence when it is none.
 */
export async function describeServer(
  binary: string,
  cache: BinaryCache,
  environment: Environment,
): Promise<ProgramFacts> {
  const machine = machineStamp(environment);
  const build = buildOf(binary);
  const known = cache.get(build);
  if (known?.devices != null && known.devices.machine === machine) return known;
  const [facts, listed] = await Promise.all([known ?? askServer(binary), readDeviceNames(binary)]);
  // No device may be a driver that is not up yet: that is asked again.
  const devices =
    machine === null || listed === null || listed.names.length === 0 ? null : { machine, names: listed.names };
  if (facts.options !== null) cache.put(build, { ...facts, devices });
  if (listed === null) return { ...facts, devices: null };
  const { reports: _, ...said } = listed;
  return { ...facts, devices: { machine: machine ?? '', ...said } };
}

/** What a tool beside it says of itself: its options alone. */
export async function describeTool(file: string, cache: BinaryCache): Promise<ProgramFacts> {
  const build = buildOf(file);
  const known = cache.get(build);
  if (known !== null) return known;
  const { options, bufferVerbosity } = await readHelp(file);
  const facts = { options, bufferVerbosity, measureRole: false, announcesReady: false, devices: null };
  if (facts.options !== null) cache.put(build, facts);
  return facts;
}

async function askServer(binary: string): Promise<ProgramFacts> {
  const [{ objection, ...help }, measureRole, announcesReady] = await Promise.all([
    readHelp(binary),
    knowsWord(binary, ROLE_VARIABLE),
    knowsWord(binary, PROTOCOL_WORD),
  ]);
  if (objection !== null) {
    throw new Error(
      `${binary} is no llama-server: it ${objection}; give another with --llama-server, or choose --engine.`,
    );
  }
  return { ...help, measureRole, announcesReady, devices: null };
}
