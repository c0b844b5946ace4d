import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { readDevices } from '../client/read-devices.js';
import type { ModelView, ModelWord, ReadDeviceView, Snapshot } from '../client/types.js';
import type { Decision } from '../scheduler/decisions.js';
import type { Event } from '../scheduler/events.js';
import type { State } from '../scheduler/state.js';
import type { Supervisor } from '../supervisor/supervisor.js';

const WORDS: Readonly<Record<ModelWord, true>> = {
  unloaded: true,
  loading: true,
  ready: true,
  sleeping: true,
  parked: true,
  stopping: true,
  failed: true,
  invalid: true,
};

const LOAD_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];
const WAIT_SECONDS = [0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** What Prometheus is told. Labels are devices and models of the catalog, and words of ours: never what a client sent. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #supervisor: Supervisor;
  #seen: Snapshot | null = null;
  readonly #requests = this.#counter('llm_tui_http_requests_total', 'Responses, by class of status.', [
    'model',
    'status',
  ]);
  readonly #waits = this.#histogram(
    'llm_tui_request_wait_seconds',
    'How long requests waited for their model, whatever came of it.',
    WAIT_SECONDS,
  );
  readonly #loads = this.#counter('llm_tui_model_loads_total', 'Loads that have ended.', ['model', 'outcome']);
  readonly #loadSeconds = this.#histogram('llm_tui_model_load_seconds', 'Time to ready.', LOAD_SECONDS);
  readonly #evictions = this.#counter(
    'llm_tui_model_evictions_total',
    'Models told to leave for another, by what was short.',
    ['reason'],
  );
  readonly #exits = this.#counter('llm_tui_model_exits_total', 'Processes that have ended, by how.', [
    'model',
    'class',
  ]);
  readonly #outOfMemory = this.#counter('llm_tui_out_of_memory_total', 'Loads that ran out of memory.', ['device']);
  readonly #refusals = this.#counter('llm_tui_refusals_total', 'Requests that the scheduler refused.', ['model']);

  constructor(supervisor: Supervisor) {
    this.#supervisor = supervisor;
    this.#describeDevices();
    this.#describeModels();
    this.#describeProcess();
    for (const reason of ['memory', 'models_max', 'max_wait']) this.#evictions.inc({ reason }, 0);
    supervisor.onTurn(({ event, state, decisions }) => this.#turned(event, state, decisions));
  }

  /** A response has ended; `status` 0: there was none. */
  requested(model: string | null, status: number): void {
    const label = status === 0 ? 'none' : `${Math.floor(status / 100)}xx`;
    this.#requests.inc({ model: model ?? '', status: label });
  }

  waited(millis: number): void {
    this.#waits.observe(millis / 1000);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    // One look for all of them, so that they agree.
    this.#seen = this.#supervisor.snapshot();
    return this.#registry.metrics();
  }

  #turned(event: Event, state: State, decisions: readonly Decision[]): void {
    for (const decision of decisions) this.#decided(decision);
    if (event.type === 'ready' && decisions.some(({ kind, model }) => kind === 'ready' && model === event.model)) {
      const instance = state.models[event.model]?.instance;
      // A model that wakes is ready again, but was not loaded now.
      if (instance?.readyAt !== state.now) return;
      this.#loads.inc({ model: event.model, outcome: 'ready' });
      this.#loadSeconds.observe((state.models[event.model]?.loadMillis ?? 0) / 1000);
    }
    if (event.type === 'exited') {
      const { model, exitClass, device } = event;
      this.#exits.inc({ model, class: exitClass });
      if (exitClass === 'out-of-memory') this.#outOfMemory.inc({ device: device ?? 'unknown' });
      const exit = state.models[model]?.lastExit;
      if (exit?.generation === event.generation && exit.duringLoad && exitClass !== 'stopped') {
        this.#loads.inc({ model, outcome: 'failed' });
      }
    }
  }

  #decided({ kind, model, plan, ledger }: Decision): void {
    if (kind === 'refuse') this.#refusals.inc({ model });
    if (kind === 'drain' && plan.length > 0) this.#evictions.inc({ reason: 'max_wait' }, plan.length);
    if (kind !== 'evict') return;
    const reason = ledger.some(({ deficitBytes }) => deficitBytes > 0) ? 'memory' : 'models_max';
    this.#evictions.inc({ reason }, plan.length);
  }

  #describeDevices(): void {
    const devices = (): readonly ReadDeviceView[] => readDevices(this.#seen?.devices ?? []);
    this.#gauge(
      'llm_tui_device_memory_bytes',
      'Memory by part; the parts add up to the total.',
      ['device', 'part'],
      (set) => {
        for (const device of devices()) {
          set({ device: device.name, part: 'held' }, device.heldBytes);
          set({ device: device.name, part: 'reserved' }, device.reservedBytes);
          set({ device: device.name, part: 'external' }, device.externalBytes);
          set({ device: device.name, part: 'free' }, device.freeBytes);
        }
      },
    );
    const single = (name: string, help: string, bytesOf: (device: ReadDeviceView) => number): void =>
      this.#gauge(name, help, ['device'], (set) => {
        for (const device of devices()) set({ device: device.name }, bytesOf(device));
      });
    single('llm_tui_device_memory_total_bytes', 'The whole of it.', ({ totalBytes }) => totalBytes);
    single('llm_tui_device_margin_bytes', 'Kept free.', ({ marginBytes }) => marginBytes);
    single('llm_tui_device_releasing_bytes', 'Held by processes that have ended.', (device) => device.releasingBytes);
    single('llm_tui_device_overcommit_bytes', 'Promised beyond the total.', ({ overcommitBytes }) => overcommitBytes);
    this.#gauge('llm_tui_device_unreadable', '1 while its driver cannot be asked.', ['device'], (set) => {
      for (const { name, problem } of this.#seen?.devices ?? []) set({ device: name }, problem === null ? 0 : 1);
    });
  }

  #describeModels(): void {
    const models = (): readonly ModelView[] => this.#seen?.models ?? [];
    this.#gauge('llm_tui_model_state', '1 for the state that the model is in.', ['model', 'state'], (set) => {
      for (const { id, word } of models()) {
        for (const state of Object.keys(WORDS)) set({ model: id, state }, state === word ? 1 : 0);
      }
    });
    this.#gauge('llm_tui_model_leases', 'Requests in flight.', ['model'], (set) => {
      for (const { id, requests } of models()) set({ model: id }, requests);
    });
    this.#gauge('llm_tui_queue_waiters', 'Requests that wait for their model.', ['model'], (set) => {
      for (const { id } of models()) set({ model: id }, 0);
      for (const { model, waiters } of this.#seen?.queue ?? []) set({ model }, waiters);
    });
    this.#gauge('llm_tui_queue_length', 'Models that wait for room.', [], (set) =>
      set({}, this.#seen?.queue.length ?? 0),
    );
    this.#gauge('llm_tui_measure_queue_length', 'Models that wait to be measured.', [], (set) =>
      set({}, this.#seen?.measureQueue.length ?? 0),
    );
  }

  #describeProcess(): void {
    this.#gauge('process_resident_memory_bytes', 'Of the supervisor itself.', [], (set) =>
      set({}, process.memoryUsage.rss()),
    );
    this.#gauge('process_cpu_seconds_total', 'Of the supervisor itself.', [], (set) => {
      const { user, system } = process.cpuUsage();
      set({}, (user + system) / 1e6);
    });
    const { startedAt } = this.#supervisor.info;
    this.#gauge('process_start_time_seconds', 'Since the epoch.', [], (set) => set({}, startedAt / 1000));
  }

  /** A gauge that is asked when it is read; what it no longer names is gone. */
  #gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    collect: (set: (labels: Record<string, string>, value: number) => void) => void,
  ): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        collect((labels, value) => this.set(labels, value));
      },
    });
  }

  #counter(name: string, help: string, labelNames: readonly string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({ name, help, buckets, registers: [this.#registry] });
  }
}
