import type { CatalogEntry } from '../catalog/entry.js';
import type { LoadedCatalog } from '../catalog/catalog.js';
import { DownloadError } from '../catalog/hf-cache/hub.js';
import type {
  ActionResult,
  DeviceView,
  ModelView,
  OperatorAction,
  PlanView,
  ReloadReport,
  Snapshot,
  SupervisorInfo,
} from '../client/types.js';
import type { ProbeSample } from '../devices/probe.js';
import type { Engine } from '../engines/engine.js';
import type { ChildMeta } from '../engines/messages.js';
import { JournalWriter, type JournalOptions } from '../journal/record.js';
import { Contexts } from '../measurements/contexts.js';
import type { MeasurementStore } from '../measurements/store.js';
import type { Decision } from '../scheduler/decisions.js';
import type { DeviceReading, EventBody } from '../scheduler/events.js';
import { reasonAgainst } from '../scheduler/operator.js';
import { previewLoad } from '../scheduler/preview.js';
import { project, projectModel } from '../scheduler/project.js';
import { runningOf } from '../scheduler/running.js';
import type { DeviceView as SchedulerDeviceView, ModelView as SchedulerModelView } from '../scheduler/snapshot.js';
import type { ExitReport, ModelSpec, Settings } from '../scheduler/state.js';
import { initialState } from '../scheduler/step.js';
import type { Bytes, Millis, ModelId, RequestId } from '../scheduler/units.js';
import { answersHealth } from './ask-health.js';
import { changeBetween, operatorsPins } from './catalog-change.js';
import { linesOf, newLines } from './catalog-notices.js';
import { CatalogReload } from './catalog-reload.js';
import { ChildWatch } from './child-watch.js';
import { Children } from './children.js';
import { ContextLearning } from './context-learning.js';
import { readCpuTicks } from './cpu-time.js';
import { deviceNotices } from './device-notices.js';
import { DeviceWatch, type DeviceWatchOptions } from './device-watch.js';
import { Downloads, type DownloadsOptions } from './downloads.js';
import { HealthWatch } from './health-watch.js';
import type { InstanceRecords } from './instance-records.js';
import { KnownDevices } from './known-devices.js';
import { LeaseDesk, RequestRefused, type Asking, type Lease } from './lease-desk.js';
import { Listeners } from './listeners.js';
import { SchedulerLoop, type Turned } from './loop.js';
import { Measuring } from './measuring.js';
import { describeMemory, type ModelMemory } from './model-memory.js';
import { ModelBook } from './model-book.js';
import type { ModelEvent } from './model-events.js';
import type { PinStore } from './pins.js';
import { Publisher, type Listener } from './publisher.js';
import { remoteNotice } from './remote-notice.js';
import { runEffect, type Hands } from './run-effect.js';
import { Timers } from './timers.js';
import { TurnListeners } from './turn-listeners.js';

export interface SupervisorOptions {
  readonly settings: Settings;
  readonly engine: Engine;
  /** The models as they were read before the start. */
  readonly catalog: LoadedCatalog;
  /** Reads them again. */
  readonly readCatalog: () => Promise<LoadedCatalog>;
  /** Where models are downloaded from and to. */
  readonly hub: Pick<DownloadsOptions, 'cache' | 'access'>;
  /** What the scheduler has to know of an entry, given the devices that were found. */
  readonly specOf: (entry: CatalogEntry, devices: readonly DeviceReading[]) => ModelSpec;
  /** A look at the devices; never rejects. */
  readonly sample: DeviceWatchOptions['sample'];
  readonly pins: PinStore;
  /** What models were measured and seen to need. */
  readonly measurements: MeasurementStore;
  readonly info: SupervisorInfo;
  /** What the running children are remembered by. */
  readonly records: InstanceRecords;
  readonly limits: SilenceLimits;
  /** Where turns are recorded; null: nowhere. */
  readonly journal: JournalOptions | null;
  readonly now: () => number;
}

/** How long a child may give no sign of life; 0: for ever. */
export interface SilenceLimits {
  /** While it loads, where its entry says nothing else. */
  readonly loadTimeoutMillis: Millis;
  /** While it has work. */
  readonly hangTimeoutMillis: Millis;
}

/** A line that a model's instance has printed, safe to show. */
export interface LogLine {
  readonly model: ModelId;
  readonly line: string;
}

/** How long an exit may take to be seen after its connection broke. */
const EXIT_REPORT_MILLIS = 2000;

/** Notices kept for the screen. */
const KEPT_NOTICES = 50;

/** The running program around the scheduler: the only place with a clock, processes and files. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #book: ModelBook;
  readonly #reload: CatalogReload;
  readonly #modelEvents = new Listeners<ModelEvent>();
  readonly downloads: Downloads;
  readonly #loop: SchedulerLoop;
  readonly #hands: Hands;
  readonly #publisher: Publisher;
  readonly #journal: JournalWriter | null;
  readonly #turns = new TurnListeners();
  readonly #childWatch: ChildWatch;
  readonly #hangUps = new Listeners<number>();
  readonly #learning: ContextLearning;
  readonly #health: HealthWatch | null;
  readonly #logLines = new Listeners<LogLine>();
  readonly #started = Promise.withResolvers<undefined>();
  #isStarted = false;
  readonly #notices = new Listeners<string>();
  readonly #reloads = new Listeners<ReloadReport>();
  #pinsSaved: Promise<string | null> = Promise.resolve(null);
  /** What the probes say of devices that cannot be read now. */
  #deviceErrors: readonly string[] = [];
  #info: SupervisorInfo;
  /** What was to be said of the catalog when it was read last. */
  #catalogLines: readonly string[];
  #lastSample: ProbeSample = { devices: [], instances: [] };
  readonly #devices = new KnownDevices();
  /** There are others than those that models were laid out on. */
  #devicesChanged = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#book = new ModelBook(options.catalog.entries);
    this.#catalogLines = linesOf(options.catalog);
    this.#info = { ...options.info, notices: [...options.info.notices, ...this.#catalogLines].slice(-KEPT_NOTICES) };
    this.#reload = new CatalogReload({
      read: options.readCatalog,
      take: (catalog) => this.#takeCatalog(catalog),
      onFailure: (message) => this.notice(`The models could not be read again: ${message}`),
    });
    this.downloads = new Downloads({
      ...options.hub,
      tell: (event) => this.#modelEvents.tell(event),
      notice: (message) => this.notice(message),
      reload: () => this.#reload.now(),
    });
    const { engine, now, records } = options;
    this.#journal = options.journal && new JournalWriter(options.journal, (notice) => this.notice(notice));
    this.#loop = new SchedulerLoop({
      initial: initialState(options.settings),
      now,
      journal: this.#journal,
      runEffect: (effect) => runEffect(this.#hands, effect),
      onTurn: (turned) => this.#turned(turned),
    });
    const dispatch = this.#loop.dispatch.bind(this.#loop);
    const contexts = new Contexts({ engine, store: options.measurements, devices: () => this.#devices.read });
    const children = new Children({
      engine,
      dispatch: (event) => this.#fromChild(event),
      records,
      entry: (id) => this.entry(id),
      onLog: (model, line) => this.#logLines.tell({ model, line }),
    });
    this.#hands = {
      children,
      leases: new LeaseDesk(dispatch),
      measuring: new Measuring({
        engine,
        store: options.measurements,
        contexts,
        entry: (id) => this.entry(id),
        spec: (id) => this.#loop.state.models[id]?.spec ?? null,
        devices: () => this.#devices.read,
        records,
        dispatch,
      }),
      timers: new Timers(now, (timer) => dispatch({ type: 'timer', timer })),
      watch: new DeviceWatch({
        sample: async (trees) => {
          const taken = await options.sample(trees);
          this.#lastSample = taken.sample;
          if (this.#devices.take(taken.sample.devices, taken.failures)) this.#devicesChanged = true;
          return taken;
        },
        trees: () => [...children.trees(this.#loop.state.releases), ...this.#hands.measuring.trees()],
        now,
        dispatch: (event) => {
          dispatch(event);
          this.#learn();
          void this.#layOutAnew();
        },
        isFollowed: () => this.#publisher.isHeard,
        onErrors: (errors) => this.#takeDeviceErrors(errors),
      }),
      hangUp: (generation) => this.#hangUps.tell(generation),
      savePins: (pins) => this.#savePins(pins),
    };
    this.#childWatch = this.#watchChildren(children);
    this.#learning = new ContextLearning({
      contexts,
      memoryOf: (generation) => children.memoryOf(generation),
      tablesOf: (model) => this.#hands.measuring.wholeTablesOf(model),
    });
    const silent = engine.capabilities().announcesReady === false;
    this.#health = silent ? new HealthWatch({ portOf: (generation) => children.portOf(generation), dispatch }) : null;
    this.#publisher = new Publisher(() => this.snapshot());
  }

  /** Looks at the devices once, then knows the catalog; pinned models start to load. */
  async start(): Promise<void> {
    await this.#hands.watch.start();
    const [{ pins, notice }, learnt] = await Promise.all([
      this.#options.pins.load(),
      this.#options.measurements.load(),
    ]);
    const remote = remoteNotice(this.#book.entries());
    this.notice(...[notice, learnt.notice, remote].filter((said) => said !== null));
    this.#devicesChanged = false;
    const startup = this.#book.entries().filter(({ loadOnStartup }) => loadOnStartup);
    this.#loop.dispatch({ type: 'catalog', models: this.#specs(), pins, startup: startup.map(({ id }) => id) });
    this.#childWatch.start();
    this.#isStarted = true;
    this.#started.resolve(undefined);
  }

  /** False until it knows its models: a request that comes earlier has to wait for `started`, or it would know none. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  get started(): Promise<undefined> {
    return this.#started.promise;
  }

  /** Reads the sources of models again. What would be started the same way keeps running. */
  reloadCatalog(): Promise<ReloadReport> {
    return this.#reload.now();
  }

  /** The same once a source that has changed has come to rest. */
  catalogChanged(): void {
    this.#reload.soon();
  }

  /** What happens to models beside their states. Returns the function that ends it. */
  onModelEvent(listener: (event: ModelEvent) => void): () => void {
    return this.#modelEvents.add(listener);
  }

  get info(): SupervisorInfo {
    return this.#info;
  }

  /** Where the router came to listen. */
  listensAt(url: string, host: string): void {
    this.#info = { ...this.#info, url, host };
    this.#publisher.changed();
  }

  /** Tells the user something that is no decision. */
  notice(...notices: readonly string[]): void {
    this.#replaceNotices([], notices);
  }

  /** Called with every notice from now on. Returns the function that ends it. */
  onNotice(listener: (notice: string) => void): () => void {
    return this.#notices.add(listener);
  }

  /** Called whenever the models have been read again, whoever asked. Returns the function that ends it. */
  onReload(listener: (report: ReloadReport) => void): () => void {
    return this.#reloads.add(listener);
  }

  snapshot(): Snapshot {
    const { models, devices, ...rest } = project(this.#loop.state);
    return {
      schema: 1,
      ...rest,
      devices: devices.map((device) => this.#withActivity(device)),
      models: models.map((model) => this.#withLog(model)),
      supervisor: this.#info,
    };
  }

  /** One model as the snapshot shows it, without the rest of it; null for an unknown one. */
  view(id: ModelId): ModelView | null {
    const view = projectModel(this.#loop.state, id);
    return view === null ? null : this.#withLog(view);
  }

  /** Instances at most; 0: as many as fit. */
  get modelsMax(): number {
    return this.#loop.state.settings.modelsMax;
  }

  /** How long the oldest event that the scheduler was given has been without a turn; 0 when there is none. */
  busyMillis(): number {
    return this.#loop.busyMillis();
  }

  entries(): readonly CatalogEntry[] {
    return this.#book.entries();
  }

  entry(id: ModelId): CatalogEntry | null {
    return this.#book.entry(id);
  }

  /** The entry with this id or alias. */
  resolve(name: string): CatalogEntry | null {
    return this.#book.resolve(name);
  }

  nearest(name: string): readonly string[] {
    return this.#book.nearest(name);
  }

  /** See LeaseDesk.acquire. */
  acquire(model: ModelId, asking: Asking): Promise<Lease> {
    return this.#hands.leases.acquire(model, asking);
  }

  /**
   * A look at a model that runs, without using it: nothing is counted, loaded or woken. Throws RequestRefused (503) with
   * its state when it does not run.
   */
  peek(model: ModelId): Lease {
    const { word, generation } = this.view(model) ?? { word: 'unloaded', generation: null };
    if (generation !== null && (word === 'ready' || word === 'sleeping')) {
      return { request: '', model, generation, cancelled: null, onCancel: null, [Symbol.dispose]: () => undefined };
    }
    const message = `model '${model}' is ${word}; reading about it does not load it`;
    throw new RequestRefused({ status: 503, code: 'model_not_loaded', message, retryAfterSeconds: null, decision: 0 });
  }

  /** A model that can be looked at now, one that is up before one that sleeps; null where none runs. */
  anyRunning(): ModelId | null {
    const up = runningOf(this.#loop.state).filter(([, { phase }]) => phase === 'ready' || phase === 'sleeping');
    return (up.find(([, { phase }]) => phase === 'ready') ?? up[0])?.[0] ?? null;
  }

  /** The port of a lease's instance, or null when it has gone. */
  portOf(lease: Lease): number | null {
    return this.#hands.children.portOf(lease.generation);
  }

  /** So many bytes of an answer have reached the client of a lease. */
  forwarded(lease: Lease, bytes: Bytes): void {
    this.#hands.children.forwarded(lease.generation, bytes);
  }

  /** Called when whoever still uses a generation has to be cut off. */
  onHangUp(listener: (generation: number) => void): void {
    this.#hangUps.add(listener);
  }

  /** Why a lease's instance is gone; null when it still runs after the time that an exit takes to be seen. */
  async exitOf(lease: Lease): Promise<ExitReport | null> {
    const report = (): ExitReport | null => {
      const exit = this.#loop.state.models[lease.model]?.lastExit ?? null;
      return exit?.generation === lease.generation ? exit : null;
    };
    return report() ?? (await this.#turns.when(() => report(), EXIT_REPORT_MILLIS));
  }

  /** Why an action makes no sense now, or what came of it. `request` is the one to cancel, where not all of the model's are. */
  operate(action: OperatorAction, model: ModelId, request?: RequestId): ActionResult {
    const message = reasonAgainst(this.#loop.state, action, model, request);
    if (message !== null) return { ok: false, message };
    const refused: Decision[] = [];
    const stop = this.#turns.add(({ decisions }) => {
      refused.push(...decisions.filter((decision) => decision.kind === 'refuse' && decision.model === model));
    });
    this.#loop.dispatch({ type: 'operator', action, model, ...(request === undefined ? {} : { request }) });
    stop();
    return refused[0] === undefined ? { ok: true } : { ok: false, message: refused[0].sentence };
  }

  /** The model that a request waits for, or is answered by; null: there is no such request. */
  modelOfRequest(request: RequestId): ModelId | null {
    const { queue } = this.#loop.state;
    const entry = queue.find(({ waiters }) => waiters.some((waiter) => waiter.request === request));
    const running = runningOf(this.#loop.state).find(([, { leases }]) => leases.includes(request));
    return entry?.model ?? running?.[0] ?? null;
  }

  /** Why the pins could not be saved when that was tried last; null: they are. */
  pinsSaved(): Promise<string | null> {
    return this.#pinsSaved;
  }

  /** Stops a model whose files are to go, and waits until it has gone. Throws DownloadError where it may not be stopped. */
  async stopForRemoval(model: ModelId): Promise<void> {
    const gone = (): true | null => (this.#loop.state.models[model]?.instance == null ? true : null);
    if (gone() === true) return;
    const result = this.operate('unload', model);
    const leaves = this.#loop.state.models[model]?.instance;
    const isLeaving = leaves?.phase === 'stopping' || leaves?.draining != null;
    if (!result.ok && !isLeaving) throw new DownloadError(result.message, 400);
    await this.#turns.when(gone, null);
  }

  preview(model: ModelId): PlanView {
    return previewLoad(this.#loop.state, model, this.#options.now());
  }

  decision(number: number): Decision | null {
    return this.#loop.state.decisions.find((decision) => decision.number === number) ?? null;
  }

  /** What is known of a model's memory, in all the ways in which it is known; null for an unknown model. */
  memoryOf(id: ModelId): ModelMemory | null {
    const model = this.#loop.state.models[id];
    return model === undefined ? null : describeMemory(model, this.#hands.measuring, this.#hands.children);
  }

  /** What the model's process said of it when it came up; null when none runs, or it said nothing. */
  metaOf(id: ModelId): ChildMeta | null {
    const generation = this.#loop.state.models[id]?.instance?.generation;
    return generation === undefined ? null : this.#hands.children.metaOf(generation);
  }

  logs(model: ModelId): readonly string[] {
    return this.#hands.children.logsOf(model);
  }

  /** Called with every line that an instance prints. Returns the function that ends it. */
  onLog(listener: (said: LogLine) => void): () => void {
    return this.#logLines.add(listener);
  }

  subscribe(listener: Listener): () => void {
    const unsubscribe = this.#publisher.subscribe(listener);
    this.#hands.watch.lookNow();
    return unsubscribe;
  }

  /** Called after every turn. Returns the function that ends it. */
  onTurn(listener: (turned: Turned) => void): () => void {
    return this.#turns.add(listener);
  }

  /** Stops every model, waits until they are gone, and ends. */
  async shutdown(): Promise<void> {
    const idle = (): true | null =>
      Object.values(this.#loop.state.models).every((model) => model.instance === null) || null;
    this.#reload.close();
    this.#loop.dispatch({ type: 'shutdown' });
    // Screens that lose their connection now know why.
    this.#publisher.flush();
    if (idle() === null) await this.#turns.when(idle, null);
    this.#childWatch.close();
    await this.downloads.close();
    await this.#hands.measuring.close();
    this.#hands.watch.close();
    this.#hands.timers.close();
    this.#journal?.close(this.#loop.state);
  }

  /** Ends the children without asking them. */
  killAll(): void {
    this.#hands.children.killAll();
    this.#hands.measuring.killAll();
  }

  #watchChildren(children: Children): ChildWatch {
    const { limits } = this.#options;
    const loadTimeoutMillis = (model: ModelId): Millis =>
      this.entry(model)?.loadTimeoutMillis ?? limits.loadTimeoutMillis;
    const timeouts = this.entries()
      .map(({ id }) => loadTimeoutMillis(id))
      .filter((millis) => millis > 0);
    return new ChildWatch({
      loadTimeoutMillis,
      shortestLoadTimeoutMillis: timeouts.length === 0 ? 0 : Math.min(...timeouts),
      hangTimeoutMillis: limits.hangTimeoutMillis,
      running: () => runningOf(this.#loop.state),
      bytesOf: (generation) => children.bytesOf(generation),
      cpuOf: readCpuTicks,
      answers: async (generation, limitMillis) => {
        const port = children.portOf(generation);
        return port !== null && (await answersHealth(port, limitMillis));
      },
      dispatch: (event) => this.#loop.dispatch(event),
    });
  }

  #specs(): readonly ModelSpec[] {
    const { specOf } = this.#options;
    return this.#hands.measuring.withKnown(this.#book.entries().map((entry) => specOf(entry, this.#devices.all)));
  }

  /** A driver has come up, or has been found to be there: models are laid out on what there is now. */
  async #layOutAnew(): Promise<void> {
    if (!this.#devicesChanged || !this.#isStarted) return;
    this.#devicesChanged = false;
    await this.#options.engine.lookAgain?.();
    const { state } = this.#loop;
    if (state.shuttingDown) return;
    this.#loop.dispatch({ type: 'catalog', models: this.#specs(), pins: operatorsPins(state) });
  }

  #takeCatalog(catalog: LoadedCatalog): ReloadReport {
    const before = this.#loop.state;
    this.#book.replace(catalog.entries);
    const models = this.#specs();
    const change = changeBetween(before, models);
    if (!before.shuttingDown) this.#loop.dispatch({ type: 'catalog', models, pins: operatorsPins(before) });
    const lines = linesOf(catalog);
    this.notice(...newLines(this.#catalogLines, lines));
    this.#catalogLines = lines;
    for (const model of change.removed) this.#modelEvents.tell({ model, event: 'model_remove' });
    this.#modelEvents.tell({ model: '*', event: 'models_reload' });
    const report = { ...change, errors: catalog.errors.map(({ message }) => message) };
    this.#reloads.tell(report);
    return report;
  }

  #withActivity(device: SchedulerDeviceView): DeviceView {
    const percent = this.#lastSample.activity?.[device.name]?.utilizationPercent ?? null;
    return percent === null ? device : { ...device, utilizationPercent: Math.round(percent) };
  }

  #withLog(model: SchedulerModelView): ModelView {
    const { id, lastExit } = model;
    if (lastExit === null) return { ...model, lastExit };
    return {
      ...model,
      lastExit: { ...lastExit, lastLines: this.#hands.children.lastLinesOf(id, lastExit.generation) },
    };
  }

  /** What a child's tables say leaves out what the driver takes for it. */
  #fromChild(event: EventBody): void {
    this.#health?.saw(event);
    if (event.type !== 'ready' || event.effective === null) {
      this.#loop.dispatch(event);
      return;
    }
    const effective = this.#hands.measuring.withContext(event.model, event.effective);
    this.#loop.dispatch({ ...event, effective });
  }

  /** Takes in what a sample shows of the driver's part of ready instances. */
  #learn(): void {
    if (this.#learning.look(this.#loop.state)) this.#hands.measuring.correct(this.#loop.state.modelOrder);
  }

  #turned(turned: Turned): void {
    this.#publisher.decided(turned.decisions);
    this.#publisher.changed();
    this.#turns.tell(turned);
  }

  /** An error that is over leaves the notices; once all are, that is said. */
  #takeDeviceErrors(errors: readonly string[]): void {
    const { gone, said } = deviceNotices(this.#deviceErrors, errors);
    this.#deviceErrors = errors;
    this.#replaceNotices(gone, said);
  }

  #replaceNotices(gone: readonly string[], notices: readonly string[]): void {
    if (gone.length + notices.length === 0) return;
    const kept = this.#info.notices.filter((notice) => !gone.includes(notice));
    this.#info = { ...this.#info, notices: [...kept, ...notices].slice(-KEPT_NOTICES) };
    this.#publisher.changed();
    for (const notice of notices) this.#notices.tell(notice);
  }

  #savePins(pins: readonly ModelId[]): void {
    this.#pinsSaved = this.#options.pins.save(pins).then(
      () => null,
      (error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        const message = `The pins could not be saved (${why}); they hold until this supervisor ends.`;
        this.notice(message);
        return message;
      },
    );
  }
}
