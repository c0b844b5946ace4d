/**
 * How long the scheduler takes to decide: `npm run bench:scheduler`. Everything is printed beside a fixed loop, so that
 * figures from different machines can be compared.
 */
import type { Event, EventBody } from '../src/scheduler/events.js';
import type { ModelSpec, Settings, State } from '../src/scheduler/state.js';
import { initialState, step } from '../src/scheduler/step.js';
import { GIB } from '../src/scheduler/units.js';
import { DEFAULT_SETTINGS } from '../src/scheduler/default-settings.js';
import { Random } from '../src/simulation/random.js';

const SETTINGS: Settings = { ...DEFAULT_SETTINGS, queueMax: 1_000_000 };
const DEVICES = 16;
/** Linear growth is copying a catalog's table once per turn; figures of one machine differ by so much. */
const NOISE = 0.15;
const DEVICE_BYTES = 80 * GIB;

const device = (index: number): string => `CUDA${index}`;

/** A busy machine in small: models, children that load at once, and requests that come and go. */
class Machine {
  state: State = initialState(SETTINGS);
  readonly events: Event[] = [];
  readonly #random = new Random(1);
  readonly #models: readonly string[];
  readonly #waiters: number;
  #open: { readonly request: string; readonly model: string }[] = [];
  #starting: { readonly model: string; readonly generation: number }[] = [];
  #stopping: { readonly model: string; readonly generation: number }[] = [];
  #now = 0;
  #requests = 0;

  /** `waiters`: how many requests find no room at any time. */
  constructor(models: number, waiters: number) {
    this.#waiters = waiters;
    this.#models = Array.from({ length: models }, (_, index) => `model-${index}`);
    this.#sample();
    this.#play({ type: 'catalog', models: this.#models.map(specOf), pins: [] });
  }

  /** One thing after the other, as it comes on a busy machine. */
  run(events: number): void {
    for (let count = 0; count < events; count += 1) {
      const stopping = this.#stopping.shift();
      const starting = this.#starting.shift();
      if (stopping !== undefined) this.#exit(stopping);
      else if (starting !== undefined) this.#ready(starting);
      else if (this.state.releases.length > 0 || count % 20 === 0) this.#sample();
      else if (waiting(this.state) < this.#waiters) this.#request();
      else this.#end();
    }
  }

  #play(body: EventBody): void {
    this.#now += 5;
    const event: Event = { at: this.#now, ...body };
    const result = step(this.state, event);
    this.state = result.state;
    this.events.push(event);
    for (const effect of result.effects) {
      if (effect.type === 'spawn') this.#starting.push(effect);
      if (effect.type === 'stop') this.#stopping.push(effect);
      if (effect.type === 'grant') this.#open.push(effect);
    }
  }

  #request(): void {
    this.#requests += 1;
    const model = this.#random.pick(this.#models);
    this.#play({ type: 'request', request: `r${this.#requests}`, model, autoload: true });
  }

  #end(): void {
    const [ended] = this.#open.splice(this.#random.between(0, Math.max(0, this.#open.length - 1)), 1);
    const request = ended ?? this.#firstWaiter();
    if (request !== null) this.#play({ type: 'request-ended', request: request.request, model: request.model });
  }

  #firstWaiter(): { readonly request: string; readonly model: string } | null {
    const [entry] = this.state.queue;
    const [waiter] = entry?.waiters ?? [];
    return entry === undefined || waiter === undefined ? null : { request: waiter.request, model: entry.model };
  }

  #ready({ model, generation }: { model: string; generation: number }): void {
    this.#play({ type: 'ready', model, generation, contextTokens: 4096, effective: null });
  }

  #exit({ model, generation }: { model: string; generation: number }): void {
    const how = {
      exitClass: 'stopped',
      exitCode: 0,
      signal: null,
      reason: 'stopped',
      device: null,
      askedBytes: null,
    } as const;
    this.#play({ type: 'exited', model, generation, ...how });
  }

  #sample(): void {
    const instances = Object.values(this.state.models).flatMap(({ spec, instance }) =>
      instance === null ? [] : [{ model: spec.id, generation: instance.generation, resident: instance.claim }],
    );
    const used = new Map<string, number>();
    for (const { resident } of instances)
      for (const [name, bytes] of Object.entries(resident)) used.set(name, (used.get(name) ?? 0) + bytes);
    const devices = Array.from({ length: DEVICES }, (_, index) => ({
      name: device(index),
      kind: 'discrete' as const,
      description: '',
      totalBytes: DEVICE_BYTES,
      usedBytes: GIB + (used.get(device(index)) ?? 0),
      attributed: true,
    }));
    this.#play({ type: 'sample', takenAt: this.#now + 5, devices, instances });
  }
}

function specOf(id: string, index: number): ModelSpec {
  const bytes = (5 + ((index * 7) % 23)) * GIB;
  return {
    id,
    aliases: [],
    placements: [{ need: { [device(index % DEVICES)]: bytes }, quality: 'estimate' }],
    contextPinned: true,
    fits: false,
    priority: 0,
    pinned: false,
    stopTimeoutMillis: 10_000,
    invalid: null,
    fingerprint: id,
    known: null,
  };
}

function waiting(state: State): number {
  return state.queue.reduce((sum, entry) => sum + entry.waiters.length, 0);
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** How long each of the same steps takes, at best of three times: what else the machine does at that moment is not ours. */
function stepMillis(events: readonly Event[]): readonly number[] {
  const best = events.map(() => Infinity);
  for (let round = 0; round < 3; round += 1) {
    let state = initialState(SETTINGS);
    for (const [index, event] of events.entries()) {
      const began = performance.now();
      state = step(state, event).state;
      best[index] = Math.min(best[index] ?? Infinity, performance.now() - began);
    }
  }
  return best;
}

/** Small objects made, copied and looked through; what the scheduler does too, without deciding anything. */
function baselineMillis(): number {
  const began = performance.now();
  let kept: Readonly<Record<string, { readonly n: number }>> = {};
  for (let round = 0; round < 2000; round += 1) {
    kept = { ...kept, [`key-${round % 200}`]: { n: round } };
    let sum = 0;
    for (const { n } of Object.values(kept)) sum += n;
    if (sum < 0) throw new Error('no sum of these is negative');
  }
  return performance.now() - began;
}

function main(): void {
  baselineMillis();
  const baseline = quantile(Array.from({ length: 5 }, baselineMillis), 0.5);
  console.log(`baseline loop of this machine: ${baseline.toFixed(1)} ms\n`);

  const busy = new Machine(200, 2000);
  busy.run(16_000);
  const steps = stepMillis(busy.events).slice(6000);
  const [p50, p99] = [quantile(steps, 0.5), quantile(steps, 0.99)];
  const queue = `${waiting(busy.state)} requests waiting for ${busy.state.queue.length} models`;
  console.log(`200 models, ${DEVICES} devices, ${queue}`);
  console.log(`  step p50 ${(p50 * 1000).toFixed(0)} µs, p99 ${(p99 * 1000).toFixed(0)} µs (has to be under 1000)\n`);

  console.log('time per event as the catalog grows (20 requests waiting):');
  let before: { readonly models: number; readonly mean: number } | null = null;
  let isLinear = true;
  for (const models of [100, 1000, 5000]) {
    const machine = new Machine(models, 20);
    machine.run(2500);
    const timed = stepMillis(machine.events).slice(500);
    const mean = timed.reduce((sum, millis) => sum + millis, 0) / timed.length;
    const growth = before === null ? null : mean / before.mean / (models / before.models);
    if (growth !== null && growth > 1 + NOISE) isLinear = false;
    const ratio = growth === null ? '' : `, ${growth.toFixed(2)} × linear growth`;
    console.log(`  ${String(models).padStart(5)} models: ${(mean * 1000).toFixed(0).padStart(6)} µs${ratio}`);
    before = { models, mean };
  }

  const began = performance.now();
  let state = initialState(SETTINGS);
  for (const event of busy.events) state = step(state, event).state;
  const seconds = (performance.now() - began) / 1000;
  const isSame = JSON.stringify(state) === JSON.stringify(busy.state);
  console.log(
    `\nreplay: ${busy.events.length} events in ${seconds.toFixed(2)} s, ${Math.round(busy.events.length / seconds)} events/s, ${isSame ? 'the same state again' : 'ANOTHER STATE'}`,
  );
  if (p99 >= 1 || !isLinear || !isSame) {
    console.log('a limit is exceeded');
    process.exitCode = 1;
  }
}

main();
