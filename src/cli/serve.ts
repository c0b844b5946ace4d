import { rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { tryLock, type FileLock } from '../../native/flock.js';
import type { LoadedCatalog } from '../catalog/catalog.js';
import { CatalogReader } from '../catalog/catalog-reader.js';
import { hfCacheDirectory } from '../catalog/hf-cache/cache-directory.js';
import { hubAccess, type HubAccess } from '../catalog/hf-cache/hub.js';
import { withoutSecrets } from '../catalog/secrets.js';
import { SourceWatch } from '../catalog/source-watch.js';
import { writeSampleModels } from '../catalog/sample-models/sample-models.js';
import { toModelSpec } from '../catalog/spec-of-entry.js';
import { LLAMA_SERVER_OPTIONS } from '../catalog/llama-server-options.js';
import { createProbes, type CombinedProbe } from '../devices/combined-probe.js';
import { chooseEngine, type ChosenEngine } from '../engines/choose-engine.js';
import { BinaryCache } from '../engines/llama-server/binary-cache.js';
import { schedulerBuild } from '../journal/scheduler-build.js';
import { launchContext } from '../measurements/key.js';
import { MeasurementStore } from '../measurements/store.js';
import { AccessLog } from '../router/access-log.js';
import { ApiKeys } from '../router/auth.js';
import { Router, type RouterOptions } from '../router/router.js';
import { DEFAULT_SETTINGS } from '../scheduler/default-settings.js';
import type { Settings } from '../scheduler/state.js';
import { InstanceRecords } from '../supervisor/instance-records.js';
import { endLeftovers } from '../supervisor/leftovers.js';
import { preparePaths, type Paths } from '../supervisor/paths.js';
import { PinStore } from '../supervisor/pins.js';
import { steadyClock } from '../supervisor/steady-clock.js';
import { Supervisor, type SupervisorOptions } from '../supervisor/supervisor.js';
import { writeAtomically } from '../supervisor/write-atomically.js';
import { checkChildVariables, childFlags, type OurWords } from './child-flags.js';
import { returnWhatIsFreed } from './freed-memory.js';
import { isLoopback, listenAt, listenOnSocket } from './listen.js';
import { OwnerWatch } from './owner-watch.js';
import type { ServeFlags } from './serve-flags.js';
import { uiSettings } from './ui-settings.js';
import { AlreadyRunning, UsageError } from './usage-error.js';
import { VERSION } from './version.js';

/** A supervisor that answers on its address and its socket. */
export interface Serving {
  readonly supervisor: Supervisor;
  readonly url: string;
  /** Resolves once everything has been stopped, for whatever reason. */
  readonly ended: Promise<void>;
  /** Stops every model and ends; a second call kills what has not left yet. */
  stop(): void;
}

/** Stop-timeout of a model whose preset gives none (llama-server: 10 s). */
const STOP_TIMEOUT_MILLIS = 10_000;

const SLOW_DEVICES_MILLIS = 1_000;
const WAITING_FOR_DEVICES = 'llm-tui waits for the devices: a driver has not answered yet; requests wait too';

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
    const supervisor = makeSupervisor(flags, paths, { engine, sim }, { reader, catalog }, access, probes);
    supervisor.notice(...leftovers);
    const page = { pageDirectory: flags.pageDirectory, uiSettings: uiSettings(commandLine) };
    return await open(flags, paths, supervisor, probes, page, say, () => lock.release());
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

/**
 * Where devices are looked for: simulated ones stand alone; else the ways that this machine does not have give way by
 * themselves.
 */
export function probesFor({ engine, sim }: ChosenEngine, paths: Paths): Parameters<typeof createProbes>[0] {
  if (sim !== null) return { sim: { devices: sim, ledgerDirectory: paths.simulation } };
  return { nvml: {}, nvidiaSmi: {}, drm: {}, engineDevices: () => engine.devices ?? null };
}

function makeSupervisor(
  flags: ServeFlags,
  paths: Paths,
  { engine }: ChosenEngine,
  { reader, catalog }: { readonly reader: CatalogReader; readonly catalog: LoadedCatalog },
  access: HubAccess,
  probes: CombinedProbe,
): Supervisor {
  const settings: Settings = {
    ...DEFAULT_SETTINGS,
    modelsMax: flags.modelsMax,
    marginBytes: flags.marginBytes,
    hostMarginBytes: flags.hostMarginBytes,
    policy: flags.policy,
    admission: flags.admission,
    minResidencyMillis: flags.minResidencyMillis,
    queueTimeoutMillis: flags.queueTimeoutMillis,
    measures: engine.capabilities().measure,
    parks: engine.capabilities().park === true,
    maxWaitMillis: flags.maxWaitMillis,
    queueMax: flags.queueMax,
    killHung: flags.killHung,
  };
  const now = steadyClock();
  const startedAt = now();
  const fits = engine.name === 'llama-server';
  const startedBy = launchContext(engine, process.env);
  const supervisor: Supervisor = new Supervisor({
    settings,
    engine,
    catalog,
    readCatalog: () => reader.read(),
    hub: { cache: engine.simulated ? null : hfCacheDirectory(process.env), access },
    specOf: (entry, devices) => toModelSpec(entry, engine.estimate(entry, devices), startedBy, fits),
    sample: (trees) => probes.sample(trees),
    pins: new PinStore(paths.stateDirectory),
    measurements: new MeasurementStore({
      path: paths.measurements,
      write: writeAtomically,
      now,
      onError: (message) => supervisor.notice(message),
    }),
    records: new InstanceRecords(paths.instances, (message) => supervisor.notice(message)),
    limits: { loadTimeoutMillis: flags.loadTimeoutMillis, hangTimeoutMillis: flags.hangTimeoutMillis },
    info: {
      version: VERSION,
      pid: process.pid,
      startedAt,
      url: '',
      host: '',
      engine: { name: engine.name, reason: engine.reason, simulated: engine.simulated },
      startedWith: flags.startedWith,
      sources: sourcesOf(flags, paths),
      notices: [],
    },
    journal: journalOf(flags, paths, startedAt),
    now,
  });
  return supervisor;
}

function journalOf({ journalBytes }: ServeFlags, paths: Paths, startedAt: number): SupervisorOptions['journal'] {
  if (journalBytes === 0) return null;
  const scheduler = schedulerBuild();
  return { directory: paths.journal, capBytes: journalBytes, version: VERSION, scheduler, startedAt };
}

function sourcesOf(flags: ServeFlags, paths: Paths): readonly string[] {
  return [
    ...(flags.sampleModels ? [`sample models in ${paths.sampleModels}`] : []),
    ...(flags.modelsDir === null ? [] : [`--models-dir ${flags.modelsDir}`]),
    ...(flags.modelsPreset === null ? [] : [`--models-preset ${flags.modelsPreset}`]),
  ];
}

async function open(
  flags: ServeFlags,
  paths: Paths,
  supervisor: Supervisor,
  probes: CombinedProbe,
  page: Pick<RouterOptions, 'pageDirectory' | 'uiSettings'>,
  say: (line: string) => void,
  unlock: () => void,
): Promise<Serving> {
  let ending: Promise<void> | null = null;
  const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<undefined>();
  const watch = flags.watch ? new SourceWatch(flags, () => supervisor.catalogChanged()) : null;
  const stopTrimming = returnWhatIsFreed(supervisor);
  const stop = (): void => {
    watch?.close();
    if (ending !== null) {
      supervisor.killAll();
      return;
    }
    ending = supervisor.shutdown().then(() => {
      stopTrimming();
      router.close();
      probes.close();
      rmSync(paths.simulation, { recursive: true, force: true });
      unlock();
      resolveEnded(undefined);
    });
  };
  const owner = new OwnerWatch({ owned: flags.owned, onClose: flags.onClose, stop });
  const router = new Router({
    supervisor,
    ...page,
    prefix: flags.prefix,
    tls: flags.tls,
    keys: new ApiKeys(flags.apiKeys),
    cors: flags.cors,
    maxBodyBytes: flags.maxBodyBytes,
    autoload: flags.autoload,
    timeoutMillis: flags.timeoutMillis,
    log: logOf(flags, paths, supervisor),
    desk: { ownerConnected: () => owner.connected(), detach: () => owner.detach(), shutdown: stop },
  });
  try {
    const network = router.server(false);
    await listenAt(network, flags);
    const { port, address } = network.address() as AddressInfo;
    await listenOnSocket(router.server(true), paths.socket);
    const scheme = flags.tls === null ? 'http' : 'https';
    const host = address.includes(':') ? `[${address}]` : address;
    supervisor.listensAt(`${scheme}://${host}:${port}${flags.prefix}`, address);
  } catch (error) {
    router.close();
    probes.close();
    throw error;
  }
  if (!isLoopback(flags.host) && flags.apiKeys.length === 0) {
    supervisor.notice(`Everybody who reaches ${flags.host} may use and unload models: there is no --api-key.`);
  }
  const slow = setTimeout(() => say(WAITING_FOR_DEVICES), SLOW_DEVICES_MILLIS);
  await supervisor.start().finally(() => clearTimeout(slow));
  supervisor.notice(...probes.notes());
  owner.start();
  supervisor.notice(...(watch?.start() ?? []));
  return { supervisor, url: supervisor.info.url, ended, stop };
}

function logOf({ logRequests }: ServeFlags, paths: Paths, supervisor: Supervisor): AccessLog | null {
  if (logRequests === null) return null;
  const path = logRequests === '' ? join(paths.stateDirectory, 'requests.jsonl') : logRequests;
  return new AccessLog(path, (notice) => supervisor.notice(notice));
}

/** What the user gave is wrong if this fails. */
async function asUsage<T>(run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
