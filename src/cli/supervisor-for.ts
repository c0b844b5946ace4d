import { hfCacheDirectory } from '../catalog/hf-cache/cache-directory.js';
import type { HubAccess } from '../catalog/hf-cache/hub.js';
import type { LoadedCatalog } from '../catalog/catalog.js';
import type { CatalogReader } from '../catalog/catalog-reader.js';
import { toModelSpec } from '../catalog/spec-of-entry.js';
import type { CombinedProbe } from '../devices/combined-probe.js';
import type { ChosenEngine } from '../engines/choose-engine.js';
import { schedulerBuild } from '../journal/scheduler-build.js';
import { launchContext } from '../measurements/key.js';
import { MeasurementStore } from '../measurements/store.js';
import { DEFAULT_SETTINGS } from '../scheduler/default-settings.js';
import type { Settings } from '../scheduler/state.js';
import { InstanceRecords } from '../supervisor/instance-records.js';
import type { Paths } from '../supervisor/paths.js';
import { PinStore } from '../supervisor/pins.js';
import { steadyClock } from '../supervisor/steady-clock.js';
import { Supervisor, type SupervisorOptions } from '../supervisor/supervisor.js';
import { writeAtomically } from '../supervisor/write-atomically.js';
import type { ServeFlags } from './serve-flags.js';
import { VERSION } from './version.js';

/** The supervisor of a command line, with what was read and found for it; it has not looked at anything yet. */
export function supervisorFor(
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
