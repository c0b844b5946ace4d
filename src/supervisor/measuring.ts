import type { CatalogEntry } from '../catalog/entry.js';
import { stripControls } from '../engines/control-sequences.js';
import type { Engine } from '../engines/engine.js';
import { freePort } from '../engines/free-port.js';
import { reportsOf } from '../engines/memory-table.js';
import type { ChildMemory, MeasuredResult } from '../engines/messages.js';
import { keyOf, type MeasurementKey } from '../measurements/key.js';
import { knownMemory } from '../measurements/known-memory.js';
import type { ProcessTree } from '../devices/probe.js';
import { devicesToMeasureOn, measuredPlacements } from '../measurements/placements.js';
import type { Contexts } from '../measurements/contexts.js';
import type { MeasurementStore, MemoryTables } from '../measurements/store.js';
import { sumOf } from '../scheduler/amounts.js';
import type { Effect } from '../scheduler/effects.js';
import type { DeviceReading, EventBody } from '../scheduler/events.js';
import { sayBytes } from '../scheduler/explain.js';
import type { ModelSpec, Placement } from '../scheduler/state.js';
import type { DeviceBytes, ModelId } from '../scheduler/units.js';
import type { InstanceRecords } from './instance-records.js';
import { runMeasurement } from './run-measurement.js';

export interface MeasuringOptions {
  readonly engine: Engine;
  readonly store: MeasurementStore;
  /** What processes take besides their tables. */
  readonly contexts: Contexts;
  readonly entry: (model: ModelId) => CatalogEntry | null;
  /** What the scheduler knows of a model at present. */
  readonly spec: (model: ModelId) => ModelSpec | null;
  /** The devices as last seen. */
  readonly devices: () => readonly DeviceReading[];
  readonly records: InstanceRecords;
  readonly dispatch: (event: EventBody) => void;
}

/** So many times the memory of the whole machine is no estimate that is a little too high. */
const ABSURD_TIMES = 4;

/**
 * Why a model is not measured that could never be loaded, such as one with a context of 500 million tokens: what measures it
 * allocates no model, but still a few bytes for each token, and would take the machine down. Null: nothing speaks against it.
 */
function whyAbsurd({ placements }: ModelSpec, devices: readonly DeviceReading[]): string | null {
  const machineBytes = devices.reduce((sum, { totalBytes }) => sum + totalBytes, 0);
  const needBytes = Math.min(...placements.map(({ need }) => sumOf(need)));
  if (machineBytes === 0 || needBytes <= ABSURD_TIMES * machineBytes) return null;
  return `it would take ${sayBytes(needBytes)}, where this machine has ${sayBytes(machineBytes)} in all`;
}

interface Job {
  readonly model: ModelId;
  readonly generation: number;
  readonly fingerprint: string;
  readonly spec: ModelSpec;
  readonly key: MeasurementKey;
  readonly cancelling: AbortController;
  /** The child that runs for it now; null: none. */
  pid: number | null;
  /** Resolves once no child of it runs any more. */
  done: Promise<void>;
}

/** A reason is shown on one line. */
const LONGEST_REASON_CHARS = 300;

/** Runs the measuring children, and keeps what is learnt of models' memory. */
export class Measuring {
  readonly #options: MeasuringOptions;
  readonly #jobs = new Set<Job>();

  constructor(options: MeasuringOptions) {
    this.#options = options;
  }

  /** The specs with what earlier runs have left for them. */
  withKnown(specs: readonly ModelSpec[]): readonly ModelSpec[] {
    return specs.map((spec) => ({
      ...spec,
      known: knownMemory(this.#options.store.get(this.#key(spec)), (table) => this.#placementsOf(spec, table)),
      measureClaim: this.#claimOfMeasuring(spec),
    }));
  }

  /** What was measured of a model as it is now; null: nothing. */
  tablesOf(model: ModelId): MemoryTables | null {
    const spec = this.#options.spec(model);
    return spec === null ? null : this.#options.store.get(this.#key(spec)).tables;
  }

  /** The same, unless the tool that measured leaves a part of the model out, whose size is then only estimated. */
  wholeTablesOf(model: ModelId): MemoryTables | null {
    const { projector = null, draft = null } = this.#options.entry(model)?.files ?? {};
    return projector === null && draft === null ? this.tablesOf(model) : null;
  }

  /** What a table says that a model needs, with what its process takes besides. */
  withContext(model: ModelId, need: DeviceBytes): DeviceBytes {
    const spec = this.#options.spec(model);
    return spec === null ? need : this.#options.contexts.addTo(need, this.#isTold(spec));
  }

  /** What part of a claim that is. */
  contextOf(model: ModelId, need: DeviceBytes): DeviceBytes {
    const spec = this.#options.spec(model);
    return spec === null ? {} : this.#options.contexts.of(need, this.#isTold(spec));
  }

  /** Tells the scheduler what measured models need, now that more is known of what every process takes. */
  correct(models: readonly ModelId[]): void {
    for (const model of models) {
      const spec = this.#options.spec(model);
      const tables = this.tablesOf(model);
      if (spec === null || tables === null) continue;
      const placements = this.#placementsOf(spec, tables.min);
      this.#options.dispatch({ type: 'corrected', model, fingerprint: spec.fingerprint, placements });
    }
  }

  measure({ model, fingerprint, generation }: Extract<Effect, { type: 'measure' }>): void {
    const { dispatch, entry: entryOf, spec: specOf } = this.#options;
    const [entry, spec] = [entryOf(model), specOf(model)];
    const fail = (reason: string): void => dispatch({ type: 'measured', model, fingerprint, placements: null, reason });
    if (entry === null || spec === null) return fail('it is no longer in the catalog');
    const absurd = whyAbsurd(spec, this.#options.devices());
    if (absurd !== null) return fail(absurd);
    const cancelling = new AbortController();
    const key = this.#key(spec);
    const job: Job = { model, generation, fingerprint, spec, key, cancelling, pid: null, done: Promise.resolve() };
    this.#jobs.add(job);
    job.done = this.#run(job, entry)
      .catch((error: unknown): MeasuredResult => {
        return { result: 'failed', error: error instanceof Error ? error.message : String(error) };
      })
      .then((result) => {
        this.#jobs.delete(job);
        if (!cancelling.signal.aborted) this.#finish(job, result);
      });
  }

  cancel({ model, fingerprint }: Extract<Effect, { type: 'cancel-measure' }>): void {
    for (const job of this.#jobs) if (job.model === model && job.fingerprint === fingerprint) abandon(job);
  }

  remember({ type: _, model, fingerprint, ...learnt }: Extract<Effect, { type: 'remember' }>): void {
    this.#options.store.put(keyOf(fingerprint, this.#options.devices()), model, learnt);
  }

  /** Ends what is being measured; resolves once nothing of it runs and everything learnt is on disk. */
  async close(): Promise<void> {
    this.killAll();
    await Promise.all([...this.#jobs].map(({ done }) => done));
    await this.#options.store.flush();
  }

  killAll(): void {
    for (const job of this.#jobs) abandon(job);
  }

  /** The processes that measure: what they hold is ours, for a moment. */
  trees(): readonly ProcessTree[] {
    return [...this.#jobs].flatMap(({ model, generation, pid }) =>
      pid === null ? [] : [{ model, generation, pids: [pid] }],
    );
  }

  #key({ fingerprint }: ModelSpec): MeasurementKey {
    return keyOf(fingerprint, this.#options.devices());
  }

  #placementsOf(spec: ModelSpec, table: ChildMemory): readonly Placement[] {
    const told = this.#isTold(spec);
    return measuredPlacements(table, spec.placements).map(({ need, quality }) => {
      return { need: this.#options.contexts.addTo(need, told), quality };
    });
  }

  /** What its process takes although it allocates nothing: a context where it measures. */
  #claimOfMeasuring(spec: ModelSpec): DeviceBytes {
    const devices = devicesToMeasureOn(spec.placements, this.#options.devices());
    const need = Object.fromEntries((devices ?? Object.keys(spec.placements[0]?.need ?? {})).map((name) => [name, 1]));
    return this.#options.contexts.of(need, this.#isTold(spec));
  }

  /** True when its child is told which devices to use: by us, who place it, or by its own options. */
  #isTold({ id, placements }: ModelSpec): boolean {
    if (placements.length > 1) return true;
    const { engine } = this.#options;
    const entry = this.#options.entry(id);
    const named = entry?.options.some(({ name }) => name === 'device') ?? false;
    return named && !(entry !== null && engine.looksAtEveryDevice?.(entry));
  }

  async #run(job: Job, entry: CatalogEntry): Promise<MeasuredResult> {
    const { engine, records } = this.#options;
    const devices = devicesToMeasureOn(job.spec.placements, this.#options.devices());
    const measurement = engine.measure?.({ entry, devices, port: await freePort() });
    if (measurement === undefined) return { result: 'failed', error: `the engine ${engine.name} cannot measure` };
    return runMeasurement(measurement, job.cancelling.signal, (pid, command) => {
      job.pid = pid;
      const forget = records.add(pid, command, `the measuring of ${job.model}`);
      return () => {
        job.pid = null;
        forget();
      };
    });
  }

  #finish({ model, fingerprint, spec, key }: Job, result: MeasuredResult): void {
    const { dispatch, store } = this.#options;
    if (result.result === 'failed') {
      const reason = oneLine(result.error);
      dispatch({ type: 'measured', model, fingerprint, placements: null, reason });
      return;
    }
    const { min, max } = result;
    const placements = this.#placementsOf(spec, min);
    // Figures of nothing are no figures; the scheduler says so, and they are not kept.
    if (placements.length > 0) store.put(key, model, { tables: { min, max } });
    dispatch({ type: 'measured', model, fingerprint, placements, reports: reportsOf(min), reason: '' });
  }
}

function abandon(job: Job): void {
  job.cancelling.abort();
}

/** Words of a child, fit for a line on a screen. */
function oneLine(text: string): string {
  const line = stripControls(text.replace(/\s+/gu, ' ').trim());
  return line.length > LONGEST_REASON_CHARS ? `${line.slice(0, LONGEST_REASON_CHARS - 1)}…` : line;
}
