import type { Effect } from '../scheduler/effects.js';
import type { Event, EventBody } from '../scheduler/events.js';
import type { KnownMemory, State } from '../scheduler/state.js';
import { initialState, step, type StepResult } from '../scheduler/step.js';
import type { DeviceName, Millis, ModelId } from '../scheduler/units.js';
import { Agenda } from './agenda.js';
import { Children } from './children.js';
import { Clients } from './clients.js';
import type { Faults, Happening, SimModel, WorldConfig } from './config.js';
import type { Hub } from './hub.js';
import { Measuring } from './measuring.js';
import { Pool } from './pool.js';
import { Probes } from './probes.js';
import { Random } from './random.js';

/** One turn of the scheduler in a world. */
export interface WorldTurn {
  readonly event: Event;
  readonly before: State;
  readonly result: StepResult;
}

/** What the clock on the wall says when a world begins. */
const BEGINNING: Millis = 1_700_000_000_000;

/** Nothing has happened for so many samples, and nothing is going to: the world has come to rest. */
const SAMPLES_AT_REST = 4;

/**
 * A simulated machine around the scheduler: it does what the scheduler wants done, in its own time and with its own
 * faults, and tells what came of it. The same configuration always plays the same.
 */
export class World {
  readonly config: WorldConfig;
  readonly children: Children;
  readonly clients: Clients;
  readonly pools: ReadonlyMap<DeviceName, Pool>;
  /** Faults that happened, by kind. */
  readonly faults: Partial<Record<keyof Faults, number>> = {};
  readonly #step: typeof step;
  readonly #onTurn: (turn: WorldTurn) => void;
  readonly #agenda = new Agenda();
  readonly #random: Random;
  readonly #hub: Hub;
  readonly #probes: Probes;
  readonly #measuring: Measuring;
  readonly #known = new Map<string, KnownMemory>();
  #models: ReadonlyMap<ModelId, SimModel>;
  #pins: readonly ModelId[] = [];
  #state: State;
  #now: Millis = 0;
  #skew: Millis = 0;
  #samplesAtRest = 0;

  constructor(config: WorldConfig, onTurn: (turn: WorldTurn) => void, stepWith: typeof step = step) {
    this.config = config;
    this.#step = stepWith;
    this.#onTurn = onTurn;
    this.#random = new Random(config.seed);
    this.#state = initialState(config.settings);
    this.#models = byId(config.models);
    this.pools = new Map(
      config.devices.map((device) => [device.name, new Pool(device, (millis, act) => this.#enter(millis, act))]),
    );
    this.#hub = {
      config,
      random: this.#random,
      pools: this.pools,
      wall: () => this.#wall(),
      after: (millis, act) => this.#enter(millis, act),
      afterIdly: (millis, act) => this.#enter(millis, act, false),
      tell: (body) => this.#tell(body),
      fault: (kind) => this.#fault(kind),
    };
    const modelById = (id: ModelId): SimModel | null => this.#models.get(id) ?? null;
    this.children = new Children(this.#hub, modelById, (requests) => this.clients.cut(requests));
    this.clients = new Clients(
      this.#hub,
      () => this.#now,
      (model, request) => this.children.endWork(model, request),
    );
    this.#measuring = new Measuring(this.#hub, modelById);
    this.#probes = new Probes(
      this.#hub,
      (process) => this.children.modelOf(process) ?? this.#measuring.modelOf(process),
      () => this.#countSample(),
    );
  }

  get state(): State {
    return this.#state;
  }

  /** Time since the world began. */
  get now(): Millis {
    return this.#now;
  }

  /** Lets everything happen, until nothing is left to happen or the world's time is over. */
  run(): 'at rest' | 'out of time' {
    const { arrivals, happenings, endsAt } = this.config;
    for (const happening of happenings)
      this.#agenda.enter(happening.at, this.#rank(), true, () => this.#happen(happening));
    for (const arrival of arrivals)
      this.#agenda.enter(arrival.at, this.#rank(), true, () => this.clients.arrive(arrival));
    this.#probes.start();
    this.#readCatalog();
    while (this.#samplesAtRest < SAMPLES_AT_REST) {
      const next = this.#agenda.next();
      if (next === null) break;
      if (next.at > endsAt) return 'out of time';
      this.#now = next.at;
      next.act();
    }
    return 'at rest';
  }

  #enter(millis: Millis, act: () => void, matters = true): void {
    const { gridMillis } = this.config;
    const at = this.#now + Math.ceil(Math.max(0, millis) / gridMillis) * gridMillis;
    this.#agenda.enter(at, this.#rank(), matters, act);
  }

  #rank(): number {
    return this.config.permutes ? this.#random.next() : 0;
  }

  #wall(): Millis {
    return BEGINNING + this.#now + this.#skew;
  }

  #fault(kind: keyof Faults): boolean {
    if (this.#now >= this.config.quietAt || !this.#random.chance(this.config.faults[kind])) return false;
    this.faults[kind] = (this.faults[kind] ?? 0) + 1;
    return true;
  }

  #tell(body: EventBody): void {
    const event: Event = { at: this.#wall(), ...body };
    const before = this.#state;
    const result = this.#step(before, event);
    this.#state = result.state;
    this.#onTurn({ event, before, result });
    for (const effect of result.effects) this.#do(effect);
  }

  #do(effect: Effect): void {
    switch (effect.type) {
      case 'spawn':
        return this.children.spawn(effect);
      case 'stop':
        return this.children.stop(effect);
      case 'wake':
        return this.children.wake(effect);
      case 'park':
        return this.children.park(effect);
      case 'cut-off':
        return this.clients.cut([effect.request]);
      case 'hang-up':
        return this.children.hangUp(effect);
      case 'grant':
        this.clients.grant(effect);
        return this.children.work(effect.generation, effect.request);
      case 'reject':
        return this.clients.reject(effect);
      case 'arm-timer':
        return this.#arm(effect);
      case 'watch-devices':
        return this.#probes.watchClosely(effect.closely);
      case 'look-at-devices':
        return this.#probes.lookNow();
      case 'measure':
        return this.#measuring.measure(effect);
      case 'cancel-measure':
        return this.#measuring.cancel(effect);
      case 'remember': {
        const { fingerprint, observed, loadMillis } = effect;
        this.#known.set(fingerprint, { measured: null, observed, loadMillis });
        return;
      }
      case 'save-pins':
        this.#pins = effect.pins;
        return;
    }
  }

  #arm({ at, timer }: Extract<Effect, { type: 'arm-timer' }>): void {
    const delay = Math.max(0, at - this.#wall());
    const fire = (): void => this.#tell({ type: 'timer', timer });
    this.#enter(delay + (this.#fault('timerLate') ? this.#random.between(10, 4000) : 0), fire);
    if (this.#fault('timerStale')) this.#enter(delay + this.#random.between(0, 5000), fire);
  }

  #happen(happening: Happening): void {
    switch (happening.type) {
      case 'operator':
        return this.#tell({ type: 'operator', action: happening.action, model: happening.model });
      case 'margin':
        return this.#tell({ type: 'margin', device: happening.device, marginBytes: happening.marginBytes });
      case 'settings':
        return this.#tell({ type: 'configured', settings: happening.settings });
      case 'reload':
        this.#models = byId(happening.models);
        return this.#readCatalog();
      case 'foreign':
        return this.#growForeign(happening);
      case 'clock-jump':
        this.#skew += happening.byMillis;
        return;
      case 'crash':
        return this.children.crash(happening.model);
      case 'shutdown':
        return this.#tell({ type: 'shutdown' });
    }
  }

  #readCatalog(): void {
    const models = [...this.#models.values()].map(({ spec }) => ({
      ...spec,
      known: this.#known.get(spec.fingerprint) ?? spec.known,
    }));
    this.#tell({ type: 'catalog', models, pins: this.#pins });
  }

  #growForeign({ device, bytes, overMillis }: Extract<Happening, { type: 'foreign' }>): void {
    const steps = overMillis === 0 ? 1 : 4;
    for (let part = 1; part <= steps; part += 1) {
      this.#enter((overMillis * part) / steps, () => this.pools.get(device)?.changeForeign(Math.trunc(bytes / steps)));
    }
  }

  #countSample(): void {
    this.#samplesAtRest = this.#agenda.mattering === 0 ? this.#samplesAtRest + 1 : 0;
  }
}

function byId(models: readonly SimModel[]): ReadonlyMap<ModelId, SimModel> {
  return new Map(models.map((model) => [model.spec.id, model]));
}
