import { rmSync } from 'node:fs';
import { tryLock, type FileLock } from '../../native/flock.js';
import { CatalogReader } from '../catalog/catalog-reader.js';
import { hfCacheDirectory } from '../catalog/hf-cache/cache-directory.js';
import { hubAccess } from '../catalog/hf-cache/hub.js';
import { LLAMA_SERVER_OPTIONS } from '../catalog/llama-server-options.js';
import { writeSampleModels } from '../catalog/sample-models/sample-models.js';
import { withoutSecrets } from '../catalog/secrets.js';
import { createProbes } from '../devices/combined-probe.js';
import { chooseEngine } from '../engines/choose-engine.js';
import { BinaryCache } from '../engines/llama-server/binary-cache.js';
import { endLeftovers } from '../supervisor/leftovers.js';
import { preparePaths, type Paths } from '../supervisor/paths.js';
import { writeAtomically } from '../supervisor/write-atomically.js';
import { checkChildVariables, childFlags, type OurWords } from './child-flags.js';
import { openServing, type Serving } from './open-serving.js';
import { outOfReach } from './out-of-reach.js';
import { probesFor } from './probes-for.js';
import type { ServeFlags } from './serve-flags.js';
import { supervisorFor } from './supervisor-for.js';
import { uiSettings } from './ui-settings.js';
import { AlreadyRunning, UsageError } from './usage-error.js';

/** Stop-timeout of a model whose preset gives none (llama-server: 10 s). */
const STOP_TIMEOUT_MILLIS = 10_000;

/**
 * Starts the supervisor: everything that can be wrong with what the user gave is found before anything is served.
 * Throws UsageError or CommandFailed.
 * @param say prints a line while the start takes long
 */
export async function startServing(
  flags: ServeFlags,
  leftover: readonly string[],
  ours: OurWords,
  paths: Paths,
  say: (line: string) => void,
): Promise<Serving> {
  // With a bad one a llama-server does not even say what it is.
  if (flags.engine !== 'sim') checkChildVariables(process.env, LLAMA_SERVER_OPTIONS);
  const binaries = await BinaryCache.open(paths.binaries);
  const { engine, sim } = await asUsage(() => chooseEngine({ ...engineChoice(flags, paths), binaries }));
  const commandLine = childFlags(leftover, engine.options, engine.name, ours);
  const access = await asUsage(() =>
    hubAccess({ ...process.env, ...withoutSecrets(commandLine, engine.options).secrets }),
  );
  await asUsage(() => preparePaths(paths));
  const lock = lockOf(paths);
  if (lock === null) {
    throw new AlreadyRunning(
      (await outOfReach(paths)) ??
        `A supervisor is already running for ${paths.stateDirectory}; use llm-tui attach, or choose another --state-dir.`,
    );
  }
  try {
    const leftovers = await endLeftovers(paths.instances);
    await binaries.save(writeAtomically);
    if (sim !== null) rmSync(paths.simulation, { recursive: true, force: true });
    const reader = new CatalogReader({
      hfCache: sim === null ? hfCacheDirectory(process.env) : null,
      modelsDir: flags.modelsDir,
      presetFile: flags.modelsPreset,
      sampleModels: flags.sampleModels ? await writeSamples(paths) : [],
      options: engine.options,
      engine: engine.name,
      launchBy: engine.name === 'llama-server' ? 'repo' : 'file',
      needsModelFile: sim === null,
      commandLine,
      defaults: { stopTimeoutMillis: STOP_TIMEOUT_MILLIS, idleTimeoutMillis: flags.idleTimeoutMillis },
    });
    const catalog = await reader.read();
    if (catalog.errors[0] !== undefined) throw new UsageError(catalog.errors[0].message);
    const probes = createProbes(probesFor({ engine, sim }, paths));
    const supervisor = supervisorFor(flags, paths, { engine, sim }, { reader, catalog }, access, probes);
    supervisor.notice(...leftovers);
    const page = { pageDirectory: flags.pageDirectory, uiSettings: uiSettings(commandLine) };
    return await openServing(flags, paths, supervisor, probes, page, say, () => lock.release());
  } catch (error) {
    lock.release();
    throw error;
  }
}

function lockOf(paths: Paths): FileLock | null {
  try {
    return tryLock(paths.lockFile);
  } catch (cause) {
    throw new UsageError(notWritable(`The state directory ${paths.stateDirectory}`, cause), { cause });
  }
}

async function writeSamples(paths: Paths): Promise<readonly string[]> {
  try {
    return await writeSampleModels(paths.sampleModels);
  } catch (cause) {
    throw new UsageError(notWritable(`The directory of the sample models, ${paths.sampleModels},`, cause), { cause });
  }
}

function notWritable(what: string, cause: unknown): string {
  const why = cause instanceof Error ? cause.message : String(cause);
  return `${what} cannot be written (${why}); make room, or choose another --state-dir.`;
}

function engineChoice(flags: ServeFlags, paths: Paths): Parameters<typeof chooseEngine>[0] {
  const { engine, llamaServer, simDevices } = flags;
  return { engine, llamaServer, simDevices, simLedgerDirectory: paths.simulation };
}

/** What the user gave is wrong if this fails. */
async function asUsage<T>(run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
