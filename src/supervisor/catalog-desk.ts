import type { LoadedCatalog } from '../catalog/catalog.js';
import type { CatalogEntry } from '../catalog/entry.js';
import type { ReloadReport } from '../client/types.js';
import type { DeviceReading, EventBody, ProbeFailure } from '../scheduler/events.js';
import type { ModelSpec, State } from '../scheduler/state.js';
import type { ModelId } from '../scheduler/units.js';
import { changeBetween, operatorsPins } from './catalog-change.js';
import { linesOf, newLines } from './catalog-notices.js';
import { CatalogReload } from './catalog-reload.js';
import { KnownDevices } from './known-devices.js';
import { Listeners } from './listeners.js';
import { ModelBook } from './model-book.js';
import type { ModelEvent } from './model-events.js';

export interface CatalogDeskOptions {
  /** The models as they were read before the start. */
  readonly catalog: LoadedCatalog;
  /** Reads them again. */
  readonly read: () => Promise<LoadedCatalog>;
  /** What the scheduler has to know of an entry, given the devices that were found. */
  readonly specOf: (entry: CatalogEntry, devices: readonly DeviceReading[]) => ModelSpec;
  /** Adds what earlier runs have learnt. */
  readonly withKnown: (specs: readonly ModelSpec[]) => readonly ModelSpec[];
  /** Has the engine look again at the devices that it can use. */
  readonly lookAgain: () => Promise<void>;
  readonly state: () => State;
  readonly dispatch: (event: EventBody) => void;
  readonly notice: (...notices: readonly string[]) => void;
  readonly tell: (event: ModelEvent) => void;
}

/** Tells the scheduler which models there are and how they can be laid out: at the start, and whenever either changes. */
export class CatalogDesk {
  readonly #options: CatalogDeskOptions;
  readonly #book: ModelBook;
  readonly #devices = new KnownDevices();
  readonly #reload: CatalogReload;
  readonly #reloads = new Listeners<ReloadReport>();
  /** What was to be said of the catalog when it was read last. */
  #lines: readonly string[];
  #hasBegun = false;
  #absentPins: readonly ModelId[] = [];
  /** There are others than those that models were laid out on. */
  #devicesChanged = false;

  constructor(options: CatalogDeskOptions) {
    this.#options = options;
    this.#book = new ModelBook(options.catalog.entries);
    this.#lines = linesOf(options.catalog);
    this.#reload = new CatalogReload({
      read: options.read,
      take: (catalog) => this.#take(catalog),
      onFailure: (message) => options.notice(`The models could not be read again: ${message}`),
    });
  }

  get book(): Pick<ModelBook, 'entries' | 'entry' | 'resolve' | 'nearest'> {
    return this.#book;
  }

  get devices(): Pick<KnownDevices, 'read' | 'all'> {
    return this.#devices;
  }

  /** The scheduler knows its models from now on; pinned ones, and those to be loaded at the start, begin to load. */
  begin(pins: readonly ModelId[]): void {
    this.#hasBegun = true;
    this.#devicesChanged = false;
    const startup = this.#book.entries().filter(({ loadOnStartup }) => loadOnStartup);
    const models = this.#specs();
    const event = { type: 'catalog', models, pins: this.#heldPins(pins, models) } as const;
    this.#options.dispatch({ ...event, startup: startup.map(({ id }) => id) });
  }

  /** The operator's pins of models that are in no source now: they hold again once one has them. */
  get absentPins(): readonly ModelId[] {
    return this.#absentPins;
  }

  /** Reads the sources of models again. What would be started the same way keeps running. */
  reload(): Promise<ReloadReport> {
    return this.#reload.now();
  }

  /** The same once a source that has changed has come to rest. */
  reloadSoon(): void {
    this.#reload.soon();
  }

  /** Called whenever the models have been read again, whoever asked. Returns the function that ends it. */
  onReload(listener: (report: ReloadReport) => void): () => void {
    return this.#reloads.add(listener);
  }

  /** What a look at the devices has found. */
  takeDevices(devices: readonly DeviceReading[], failures: readonly Pick<ProbeFailure, 'devices'>[]): void {
    if (this.#devices.take(devices, failures)) this.#devicesChanged = true;
  }

  /** Where a driver has come up, or has been found to be there, models are laid out on what there is now. */
  async followDevices(): Promise<void> {
    if (!this.#devicesChanged || !this.#hasBegun) return;
    this.#devicesChanged = false;
    const { lookAgain, state, dispatch } = this.#options;
    await lookAgain();
    if (state().shuttingDown) return;
    dispatch({ type: 'catalog', models: this.#specs(), pins: operatorsPins(state()) });
  }

  close(): void {
    this.#reload.close();
  }

  #take(catalog: LoadedCatalog): ReloadReport {
    const { state, dispatch, notice, tell } = this.#options;
    const before = state();
    this.#book.replace(catalog.entries);
    const models = this.#specs();
    const change = changeBetween(before, models);
    const pins = this.#heldPins(operatorsPins(before), models);
    if (!before.shuttingDown) dispatch({ type: 'catalog', models, pins });
    const lines = linesOf(catalog);
    notice(...newLines(this.#lines, lines));
    this.#lines = lines;
    for (const model of change.removed) tell({ model, event: 'model_remove' });
    tell({ model: '*', event: 'models_reload' });
    const report = { ...change, errors: catalog.errors.map(({ message }) => message) };
    this.#reloads.tell(report);
    return report;
  }

  /** Of the pins known till now those of these models; the others are kept until theirs are back. */
  #heldPins(pins: readonly ModelId[], models: readonly ModelSpec[]): readonly ModelId[] {
    const listed = new Set(models.map(({ id }) => id));
    const all = [...new Set([...pins, ...this.#absentPins])];
    this.#absentPins = all.filter((id) => !listed.has(id));
    return all.filter((id) => listed.has(id));
  }

  #specs(): readonly ModelSpec[] {
    const { specOf, withKnown } = this.#options;
    return withKnown(this.#book.entries().map((entry) => specOf(entry, this.#devices.all)));
  }
}
