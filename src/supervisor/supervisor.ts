import type { CatalogEntry } from '../catalog/entry.js';
import { nearestNames, resolveModel } from '../catalog/resolve.js';
import type { ActionResult, OperatorAction, PlanView, Snapshot, SupervisorInfo } from '../client/types.js';
import type { ProbeSample, ProcessTree } from '../devices/probe.js';
import type { Engine } from '../engines/engine.js';
import type { Decision } from '../scheduler/decisions.js';
import type { Effect } from '../scheduler/effects.js';
import { reasonAgainst } from '../scheduler/operator.js';
import { previewLoad } from '../scheduler/preview.js';
import { project } from '../scheduler/project.js';
import type { ExitReport, ModelSpec, Settings } from '../scheduler/state.js';
import { initialState } from '../scheduler/step.js';
import type { ModelId } from '../scheduler/units.js';
import { Children } from './children.js';
import { DeviceWatch } from './device-watch.js';
import { LeaseDesk, RequestRefused, type Lease } from './lease-desk.js';
import { SchedulerLoop, type Turned } from './loop.js';
import type { PinStore } from './pins.js';
import { Publisher, type Listener } from './publisher.js';
import { Timers } from './timers.js';

export interface SupervisorOptions {
  readonly settings: Settings;
  readonly engine: Engine;
  readonly entries: readonly CatalogEntry[];
  /** What the scheduler has to know of each entry, given the devices that were found. */
  readonly specsOf: (sample: ProbeSample) => readonly ModelSpec[];
  readonly sample: (trees: readonly ProcessTree[]) => Promise<{ sample: ProbeSample; errors: readonly string[] }>;
  readonly pins: PinStore;
  readonly info: SupervisorInfo;
  readonly now: () => number;
}

/** How long an exit may take to be seen after its connection broke. */
const EXIT_REPORT_MILLIS = 2000;

/** Notices kept for the screen. */
const KEPT_NOTICES = 50;

/** The running program around the scheduler: the only place with a clock, processes and files. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #loop: SchedulerLoop;
  readonly #children: Children;
  readonly #leases: LeaseDesk;
  readonly #timers: Timers;
  readonly #watch: DeviceWatch;
  readonly #publisher: Publisher;
  readonly #turnListeners = new Set<(turned: Turned) => void>();
  #info: SupervisorInfo;
  #lastSample: ProbeSample = { devices: [], instances: [] };

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#info = options.info;
    const { engine, now } = options;
    this.#loop = new SchedulerLoop({
      initial: initialState(options.settings),
      now,
      runEffect: (effect) => this.#run(effect),
      onTurn: (turned) => this.#turned(turned),
    });
    const dispatch = this.#loop.dispatch.bind(this.#loop);
    this.#children = new Children({ engine, dispatch, entry: (id) => this.entry(id) });
    this.#leases = new LeaseDesk(dispatch);
    this.#timers = new Timers(now, (timer) => dispatch({ type: 'timer', timer }));
    this.#watch = new DeviceWatch({
      sample: async (trees) => {
        const taken = await options.sample(trees);
        this.#lastSample = taken.sample;
        return taken;
      },
      trees: () => this.#children.trees(this.#loop.state.releases),
      now,
      dispatch,
      onErrors: (errors) => this.notice(...errors),
    });
    this.#publisher = new Publisher(() => this.snapshot());
  }

  /** Looks at the devices once, then knows the catalog; pinned models start to load. */
  async start(): Promise<void> {
    await this.#watch.start();
    const { pins, notice } = await this.#options.pins.load();
    if (notice !== null) this.notice(notice);
    this.#loop.dispatch({ type: 'catalog', models: this.#options.specsOf(this.#lastSample), pins });
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
    if (notices.length === 0) return;
    this.#info = { ...this.#info, notices: [...this.#info.notices, ...notices].slice(-KEPT_NOTICES) };
    this.#publisher.changed();
  }

  snapshot(): Snapshot {
    return { schema: 1, ...project(this.#loop.state), supervisor: this.#info };
  }

  entries(): readonly CatalogEntry[] {
    return this.#options.entries;
  }

  entry(id: ModelId): CatalogEntry | null {
    return this.#options.entries.find((entry) => entry.id === id) ?? null;
  }

  /** The entry with this id or alias. */
  resolve(name: string): CatalogEntry | null {
    return resolveModel(this.#options.entries, name);
  }

  nearest(name: string): readonly string[] {
    return nearestNames(this.#options.entries, name, 3);
  }

  /** See LeaseDesk.acquire. */
  acquire(model: ModelId, options: { readonly autoload: boolean; readonly signal: AbortSignal }): Promise<Lease> {
    return this.#leases.acquire(model, options);
  }

  /**
   * A look at a model that runs, without using it: nothing is counted, loaded or woken. Throws RequestRefused (503) with
   * its state when it does not run.
   */
  peek(model: ModelId): Lease {
    const view = this.snapshot().models.find((other) => other.id === model);
    const { word, generation } = view ?? { word: 'unloaded', generation: null };
    if (generation !== null && (word === 'ready' || word === 'sleeping')) {
      return { request: '', model, generation, [Symbol.dispose]: () => undefined };
    }
    const message = `model '${model}' is ${word}; reading about it does not load it`;
    throw new RequestRefused({ status: 503, code: 'model_not_loaded', message, retryAfterSeconds: null, decision: 0 });
  }

  /** The port of a lease's instance, or null when it has gone. */
  portOf(lease: Lease): number | null {
    return this.#children.portOf(lease.generation);
  }

  /** Why a lease's instance is gone; null when it still runs after the time that an exit takes to be seen. */
  async exitOf(lease: Lease): Promise<ExitReport | null> {
    const report = (): ExitReport | null => {
      const exit = this.#loop.state.models[lease.model]?.lastExit ?? null;
      return exit?.generation === lease.generation ? exit : null;
    };
    return report() ?? (await this.#when(() => report(), EXIT_REPORT_MILLIS));
  }

  /** Why an action makes no sense now, or what came of it. */
  operate(action: OperatorAction, model: ModelId): ActionResult {
    const message = reasonAgainst(this.#loop.state, action, model);
    if (message !== null) return { ok: false, message };
    const refused: Decision[] = [];
    const listen = ({ decisions }: Turned): void => {
      refused.push(...decisions.filter((decision) => decision.kind === 'refuse' && decision.model === model));
    };
    this.#turnListeners.add(listen);
    this.#loop.dispatch({ type: 'operator', action, model });
    this.#turnListeners.delete(listen);
    return refused[0] === undefined ? { ok: true } : { ok: false, message: refused[0].sentence };
  }

  preview(model: ModelId): PlanView {
    return previewLoad(this.#loop.state, model, this.#options.now());
  }

  decision(number: number): Decision | null {
    return this.#loop.state.decisions.find((decision) => decision.number === number) ?? null;
  }

  logs(model: ModelId): readonly string[] {
    return this.#children.logsOf(model);
  }

  subscribe(listener: Listener): () => void {
    return this.#publisher.subscribe(listener);
  }

  /** Called after every turn. Returns the function that ends it. */
  onTurn(listener: (turned: Turned) => void): () => void {
    this.#turnListeners.add(listener);
    return () => this.#turnListeners.delete(listener);
  }

  /** Stops every model, waits until they are gone, and ends. */
  async shutdown(): Promise<void> {
    const idle = (): true | null =>
      Object.values(this.#loop.state.models).every((model) => model.instance === null) || null;
    this.#loop.dispatch({ type: 'shutdown' });
    if (idle() === null) await this.#when(idle, null);
    this.#watch.close();
    this.#timers.close();
  }

  /** Ends the children without asking them. */
  killAll(): void {
    this.#children.killAll();
  }

  #when<T>(condition: () => T | null, limitMillis: number | null): Promise<T | null> {
    return new Promise((resolve) => {
      const timer = limitMillis === null ? null : setTimeout(() => settle(null), limitMillis);
      const settle = (value: T | null): void => {
        if (timer !== null) clearTimeout(timer);
        stop();
        resolve(value);
      };
      const stop = this.onTurn(() => {
        const value = condition();
        if (value !== null) settle(value);
      });
    });
  }

  #turned(turned: Turned): void {
    this.#publisher.decided(turned.decisions);
    this.#publisher.changed();
    for (const listener of [...this.#turnListeners]) listener(turned);
  }

  #run(effect: Effect): void {
    switch (effect.type) {
      case 'spawn':
        this.#children.spawn(effect);
        return;
      case 'stop':
        this.#children.stop(effect);
        return;
      case 'grant':
        this.#leases.grant(effect);
        return;
      case 'reject':
        this.#leases.reject(effect);
        return;
      case 'arm-timer':
        this.#timers.arm(effect.at, effect.timer);
        return;
      case 'watch-devices':
        this.#watch.watchClosely(effect.closely);
        return;
      case 'save-pins':
        this.#options.pins.save(effect.pins).catch((error: unknown) => {
          const why = error instanceof Error ? error.message : String(error);
          this.notice(`The pins could not be saved (${why}); they hold until this supervisor ends.`);
        });
        return;
    }
  }
}
