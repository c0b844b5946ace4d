import type { LoadedCatalog } from '../catalog/catalog.js';
import type { CatalogEntry } from '../catalog/entry.js';
import type {
  ActionResult,
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
import { nextHistory, NO_HISTORY, type MemoryHistory } from '../scheduler/memory-history.js';
import { previewLoad } from '../scheduler/preview.js';
import { runningOf } from '../scheduler/running.js';
import type { ExitReport, ModelSpec, Settings, State } from '../scheduler/state.js';
import { initialState } from '../scheduler/step.js';
import type { Bytes, ModelId, RequestId } from '../scheduler/units.js';
import { CatalogDesk } from './catalog-desk.js';
import { linesOf } from './catalog-notices.js';
import type { ChildWatch } from './child-watch.js';
import { Children } from './children.js';
import { ContextLearning } from './context-learning.js';
import { DeviceWatch, type DeviceWatchOptions } from './device-watch.js';
import { Downloads, type DownloadsOptions } from './downloads.js';
import { HealthWatch } from './health-watch.js';
import type { InstanceRecords } from './instance-records.js';
import { LeaseDesk, RequestRefused, type Asking, type Lease } from './lease-desk.js';
import { Listeners } from './listeners.js';
import { SchedulerLoop, type Turned } from './loop.js';
import { Measuring } from './measuring.js';
import type { ModelEvent } from './model-events.js';
import { describeMemory, type ModelMemory } from './model-memory.js';
import { NoticeBoard } from './notice-board.js';
import { OperatorDesk } from './operator-desk.js';
import { PinSaving } from './pin-saving.js';
import type { PinStore } from './pins.js';
import { Publisher, type Listener } from './publisher.js';
import { remoteNotice } from './remote-notice.js';
import { runEffect, type Hands } from './run-effect.js';
import { snapshotOf, viewOf, type About } from './snapshot-of.js';
import { Timers } from './timers.js';
import { TurnListeners } from './turn-listeners.js';
import { UnprobedDevices } from './unprobed-devices.js';
import { watchChildren, type SilenceLimits } from './watch-children.js';

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

/** A line that a model's instance has printed, safe to show. */
export interface LogLine {
  readonly model: ModelId;
  readonly line: string;
}

/** How long an exit may take to be seen after its connection broke. */
const EXIT_REPORT_MILLIS = 2000;

/** The running program around the scheduler: the only place with a clock, processes and files. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #board: NoticeBoard;
  readonly #catalog: CatalogDesk;
  readonly #operator: OperatorDesk;
  readonly #pins: PinSaving;
  readonly #loop: SchedulerLoop;
  readonly #hands: Hands;
  readonly #publisher: Publisher;
  readonly #journal: JournalWriter | null;
  readonly #childWatch: ChildWatch;
  readonly #learning: ContextLearning;
  readonly #health: HealthWatch | null;
  readonly #turns = new TurnListeners();
  readonly #hangUps = new Listeners<number>();
  readonly #logLines = new Listeners<LogLine>();
  readonly #modelEvents = new Listeners<ModelEvent>();
  readonly #started = Promise.withResolvers<undefined>();
  readonly downloads: Downloads;
  #isStarted = false;
  #activity: ProbeSample['activity'];
  #history: MemoryHistory = NO_HISTORY;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const notices = [...options.info.notices, ...linesOf(options.catalog)];
    this.#board = new NoticeBoard({ ...options.info, notices }, options.now, () => this.#publisher.changed());
    const notice = this.#board.say.bind(this.#board);
    const tell = this.#modelEvents.tell.bind(this.#modelEvents);
    const { engine, now, records } = options;
    this.#journal = options.journal && new JournalWriter(options.journal, notice);
    this.#loop = new SchedulerLoop({
      initial: initialState(options.settings),
      now,
      journal: this.#journal,
      runEffect: (effect) => runEffect(this.#hands, effect),
      onTurn: (turned) => this.#turned(turned),
    });
    const dispatch = this.#loop.dispatch.bind(this.#loop);
    const state = (): State => this.#loop.state;
    this.#operator = new OperatorDesk({ state, dispatch, turns: this.#turns });
    this.#pins = new PinSaving(options.pins, notice);
    this.#catalog = new CatalogDesk({
      catalog: options.catalog,
      read: options.readCatalog,
      specOf: options.specOf,
      withKnown: (specs) => this.#hands.measuring.withKnown(specs),
      lookAgain: async () => engine.lookAgain?.(),
      ...{ state, dispatch, notice, tell },
    });
    const reload = this.#catalog.reload.bind(this.#catalog);
    this.downloads = new Downloads({ ...options.hub, tell, notice, reload });
    const { book } = this.#catalog;
    const devices = (): readonly DeviceReading[] => this.#catalog.devices.read;
    const contexts = new Contexts({
      engine,
      store: options.measurements,
      devices: () => this.#catalog.devices.all,
    });
    const unprobed = new UnprobedDevices({ engine, contexts, state, dispatch });
    const children = new Children({
      engine,
      dispatch: (event) => this.#fromChild(event),
      records,
      entry: (id) => book.entry(id),
      onLog: (model, line) => this.#logLines.tell({ model, line }),
    });
    this.#hands = {
      children,
      leases: new LeaseDesk(dispatch, now),
      measuring: new Measuring({
        engine,
        store: options.measurements,
        contexts,
        entry: (id) => book.entry(id),
        spec: (id) => this.#loop.state.models[id]?.spec ?? null,
        devices,
        records,
        dispatch,
      }),
      timers: new Timers(now, (timer) => dispatch({ type: 'timer', timer })),
      watch: new DeviceWatch({
        sample: async (trees) => {
          const taken = await options.sample(trees);
          this.#activity = taken.sample.activity;
          this.#catalog.takeDevices(taken.sample.devices, taken.failures);
          return taken;
        },
        trees: () => [...children.trees(this.#loop.state.releases), ...this.#hands.measuring.trees()],
        now,
        dispatch: (event) => {
          dispatch(event);
          this.#learn();
          void this.#catalog.followDevices();
          if (event.type === 'sample') void unprobed.askAbout(event.failures ?? []);
        },
        isFollowed: () => this.#publisher.isHeard,
        onFailures: (failures) => this.#board.takeDeviceFailures(failures),
      }),
      hangUp: (generation) => this.#hangUps.tell(generation),
      savePins: (pins) => this.#pins.save([...pins, ...this.#catalog.absentPins]),
    };
    this.#childWatch = watchChildren({ limits: options.limits, book, children, state, dispatch });
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
    const remote = remoteNotice(this.entries());
    this.notice(...[notice, learnt.notice, remote].filter((said) => said !== null));
    this.#catalog.begin(pins);
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
    return this.#catalog.reload();
  }

  /** The same once a source that has changed has come to rest. */
  catalogChanged(): void {
    this.#catalog.reloadSoon();
  }

  /** What happens to models beside their states. Returns the function that ends it. */
  onModelEvent(listener: (event: ModelEvent) => void): () => void {
    return this.#modelEvents.add(listener);
  }

  get info(): SupervisorInfo {
    return this.#board.info;
  }

  /** Where the router came to listen. */
  listensAt(url: string, host: string): void {
    this.#board.listensAt(url, host);
  }

  /** Tells the user something that is no decision. */
  notice(...notices: readonly string[]): void {
    this.#board.say(...notices);
  }

  /** Called with every notice from now on. Returns the function that ends it. */
  onNotice(listener: (notice: string) => void): () => void {
    return this.#board.onNotice(listener);
  }

  /** Called whenever the models have been read again, whoever asked. Returns the function that ends it. */
  onReload(listener: (report: ReloadReport) => void): () => void {
    return this.#catalog.onReload(listener);
  }

  get #about(): About {
    return { lines: this.#hands.children, book: this.#catalog.book };
  }

  snapshot(): Snapshot {
    return snapshotOf(this.#loop.state, {
      supervisor: this.#board.info,
      activity: this.#activity,
      about: this.#about,
      requests: this.#hands.leases.open(),
      outOfMemory: this.#history.reports,
    });
  }

  /** One model as the snapshot shows it, without the rest of it; null for an unknown one. */
  view(id: ModelId): ModelView | null {
    return viewOf(this.#loop.state, id, this.#about);
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
    return this.#catalog.book.entries();
  }

  entry(id: ModelId): CatalogEntry | null {
    return this.#catalog.book.entry(id);
  }

  /** The entry with this id or alias. */
  resolve(name: string): CatalogEntry | null {
    return this.#catalog.book.resolve(name);
  }

  nearest(name: string): readonly string[] {
    return this.#catalog.book.nearest(name);
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
    return this.#operator.operate(action, model, request);
  }

  /** The model that a request waits for, or is answered by; null: there is no such request. */
  modelOfRequest(request: RequestId): ModelId | null {
    return this.#operator.modelOfRequest(request);
  }

  /** Why the pins could not be saved when that was tried last; null: they are. */
  pinsSaved(): Promise<string | null> {
    return this.#pins.saved();
  }

  /** Stops a model whose files are to go, and waits until it has gone. Throws DownloadError where it may not be stopped. */
  stopForRemoval(model: ModelId): Promise<void> {
    return this.#operator.stopForRemoval(model);
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
    this.#catalog.close();
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
    const { event, before, state, decisions } = turned;
    this.#history = nextHistory(this.#history, event, before, state, decisions);
    this.#publisher.decided(turned.decisions);
    this.#publisher.changed();
    this.#turns.tell(turned);
  }
}
