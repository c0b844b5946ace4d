import { DEFAULT_SETTINGS } from '../../src/scheduler/default-settings.js';
import type { Decision } from '../../src/scheduler/decisions.js';
import type { Effect } from '../../src/scheduler/effects.js';
import type { DeviceReading, EventBody, InstanceReading, OperatorAction } from '../../src/scheduler/events.js';
import { violations } from '../../src/scheduler/invariants.js';
import type { ExitClass, Instance, Model, ModelSpec, Settings, State } from '../../src/scheduler/state.js';
import { initialState, step } from '../../src/scheduler/step.js';
import { GIB, type DeviceBytes, type Millis, type ModelId } from '../../src/scheduler/units.js';

/** A model of so many GiB on each device. */
export function spec(id: ModelId, gib: DeviceBytes, more: Partial<ModelSpec> = {}): ModelSpec {
  const need = Object.fromEntries(Object.entries(gib).map(([device, amount]) => [device, amount * GIB]));
  return {
    id,
    aliases: [],
    placements: [{ need, quality: 'estimate' }],
    contextPinned: true,
    fits: false,
    priority: 0,
    pinned: false,
    stopTimeoutMillis: 10_000,
    invalid: null,
    fingerprint: `${id} 1`,
    known: null,
    ...more,
  };
}

type Exited = Extract<EventBody, { type: 'exited' }>;

/** The end of one instance: a crash, unless a test says otherwise. */
export function exited(model: ModelId, generation: number, more: Partial<Exited> = {}): Exited {
  const exitCode = more.exitClass === 'stopped' ? 0 : 1;
  const what = { exitClass: 'crashed', exitCode, signal: null, reason: 'it crashed' } as const;
  return { type: 'exited', model, generation, ...what, device: null, askedBytes: null, ...more };
}

/** Plays events into the scheduler and looks at what comes out. Every turn is checked for what must always hold. */
export class Stage {
  state: State;
  now: Millis = 1000;
  effects: Effect[] = [];
  decisions: Decision[] = [];
  readonly granted: string[] = [];
  readonly rejected: Map<string, Extract<Effect, { type: 'reject' }>> = new Map();
  #devices: DeviceReading[] = [];
  #requests = 0;

  constructor(settings: Partial<Settings> = {}) {
    this.state = initialState({ ...DEFAULT_SETTINGS, ...settings });
  }

  /** Plays one event. `effects` and `decisions` are then those of its turn. */
  play(body: EventBody, later: Millis = 1): this {
    this.now += later;
    const before = JSON.stringify(this.state);
    const result = step(this.state, { at: this.now, ...body });
    if (JSON.stringify(this.state) !== before) throw new Error('a turn changed the state that it was given');
    this.state = result.state;
    this.effects = [...result.effects];
    this.decisions = [...result.decisions];
    for (const effect of result.effects) {
      if (effect.type === 'grant') this.granted.push(effect.request);
      if (effect.type === 'reject') this.rejected.set(effect.request, effect);
    }
    const broken = violations(this.state);
    if (broken.length > 0) throw new Error(`after ${JSON.stringify(body)}: ${broken.join('; ')}`);
    return this;
  }

  /** Devices of so many GiB, of which others use some; every process can be told apart. */
  devices(gib: DeviceBytes, external: DeviceBytes = {}): this {
    this.#devices = Object.entries(gib).map(([name, total]) => ({
      name,
      kind: name === 'Host' ? 'host' : 'discrete',
      description: '',
      totalBytes: total * GIB,
      usedBytes: (external[name] ?? 0) * GIB,
      attributed: true,
    }));
    return this.sample();
  }

  /** A sample in which every running instance holds its whole claim, and exited ones hold nothing. */
  sample(later: Millis = 1): this {
    const instances: InstanceReading[] = Object.values(this.state.models).flatMap((model) =>
      model.instance === null
        ? []
        : [{ model: model.spec.id, generation: model.instance.generation, resident: model.instance.claim }],
    );
    const devices = this.#devices.map((device) => {
      const ours = instances.reduce((sum, { resident }) => sum + (resident[device.name] ?? 0), 0);
      return { ...device, usedBytes: device.usedBytes + ours };
    });
    return this.play({ type: 'sample', takenAt: this.now + later, devices, instances }, later);
  }

  catalog(...models: readonly ModelSpec[]): this {
    return this.play({ type: 'catalog', models, pins: [] });
  }

  /** A request for the model; returns its id. */
  request(model: ModelId, autoload = true): string {
    this.#requests += 1;
    const request = `r${this.#requests}`;
    this.play({ type: 'request', request, model, autoload });
    return request;
  }

  end(request: string, model: ModelId): this {
    return this.play({ type: 'request-ended', request, model });
  }

  ready(model: ModelId, later: Millis = 1000): this {
    const { generation } = this.instance(model);
    return this.play({ type: 'ready', model, generation, contextTokens: 4096, effective: null }, later);
  }

  exit(model: ModelId, exitClass: ExitClass = 'stopped', more: Partial<Exited> = {}): this {
    return this.play(exited(model, this.instance(model).generation, { exitClass, reason: exitClass, ...more }));
  }

  operator(action: OperatorAction, model: ModelId): this {
    return this.play({ type: 'operator', action, model });
  }

  /** Loads a model to readiness for one request, which ends again. */
  load(model: ModelId): this {
    const request = this.request(model);
    return this.ready(model).end(request, model);
  }

  model(id: ModelId): Model {
    const model = this.state.models[id];
    if (model === undefined) throw new Error(`no model ${id}`);
    return model;
  }

  instance(id: ModelId): Instance {
    const { instance } = this.model(id);
    if (instance === null) throw new Error(`${id} does not run`);
    return instance;
  }

  /** The models of the latest turn's effects of one type. */
  did(type: 'spawn' | 'stop'): readonly ModelId[] {
    return this.effects.flatMap((effect) => (effect.type === type ? [effect.model] : []));
  }

  /** Models by phase, e.g. `{ a: 'ready' }`. */
  phases(): Readonly<Record<ModelId, string>> {
    return Object.fromEntries(
      Object.values(this.state.models).flatMap(({ spec: { id }, instance }) =>
        instance ? [[id, instance.phase]] : [],
      ),
    );
  }
}
