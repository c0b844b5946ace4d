import type { Effect } from '../scheduler/effects.js';
import type { DeviceReport, EventBody } from '../scheduler/events.js';
import type { ExitClass } from '../scheduler/state.js';
import {
  HOST,
  type Bytes,
  type DeviceBytes,
  type DeviceName,
  type Millis,
  type ModelId,
  type RequestId,
} from '../scheduler/units.js';
import type { SimModel, SimRest } from './config.js';
import type { Hub } from './hub.js';

export interface Child {
  readonly model: SimModel;
  readonly generation: number;
  readonly startedAt: Millis;
  phase: 'loading' | 'up' | 'resting' | 'waking' | 'stalled' | 'dead';
  /** What it holds when it is awake. */
  need: DeviceBytes;
  readonly leases: Set<RequestId>;
  hasWorked: boolean;
  isStopping: boolean;
  /** Said, and not yet heard. */
  readonly outbox: EventBody[];
  /** Changes with every use, so that only the latest idle time counts. */
  uses: number;
}

type Of<T extends Effect['type']> = Extract<Effect, { type: T }>;

interface Exit {
  readonly exitClass: ExitClass;
  readonly reason: string;
  readonly device?: DeviceName | null;
  readonly askedBytes?: Bytes | null;
}

/** A load takes its memory in so many goes, and tells of its progress after each. */
const LOAD_STEPS = 3;

/** A child that sizes itself to what is free gets along with this share of what it would like to have. */
const LEAST_SHARE = 0.4;

/** How one rests that is told to, and has no way of its own. */
const PARKED: SimRest = { as: 'sleeping', afterMillis: 0, keepsShare: 0, wakeMillis: 500 };

const ABSURD_NEEDS: readonly Record<string, number>[] = [
  {},
  { CUDA0: Number.NaN },
  { CUDA0: -5 },
  { CUDA0: 1e300 },
  { '': 1.5 },
];

/** The child processes of a world: they take memory, speak, rest, and end, as told or not. */
export class Children {
  readonly #hub: Hub;
  readonly #onCut: (requests: Iterable<RequestId>) => void;
  readonly #modelById: (id: ModelId) => SimModel | null;
  /** By generation: all that were ever started. */
  readonly all: Map<number, Child> = new Map();
  /** What was really brought into memory, again and again. */
  bytesLoaded: Bytes = 0;

  constructor(hub: Hub, modelById: (id: ModelId) => SimModel | null, onCut: (requests: Iterable<RequestId>) => void) {
    this.#hub = hub;
    this.#modelById = modelById;
    this.#onCut = onCut;
  }

  /** The model of a process that still has memory somewhere. */
  modelOf(generation: number): ModelId | null {
    return this.all.get(generation)?.model.spec.id ?? null;
  }

  living(): readonly Child[] {
    return [...this.all.values()].filter((child) => child.phase !== 'dead');
  }

  spawn({ model: id, generation, devices }: Of<'spawn'>): void {
    const { after, fault, random, tell, wall } = this.#hub;
    const model = this.#modelById(id);
    if (model === null) {
      after(0, () =>
        tell(exitEvent(id, generation, { exitClass: 'crashed', reason: 'it is no longer in the catalog' })),
      );
      return;
    }
    const child: Child = {
      model,
      generation,
      startedAt: wall(),
      phase: 'loading',
      need: needOf(model, devices),
      leases: new Set(),
      hasWorked: false,
      isStopping: false,
      outbox: [],
      uses: 0,
    };
    this.all.set(generation, child);
    if (fault('spawnFails')) {
      this.#die(child, { exitClass: 'crashed', reason: 'it could not be started' });
      return;
    }
    after(random.between(0, 10), () =>
      this.#say(child, { type: 'spawned', model: id, generation, pid: 1000 + generation }),
    );
    if (fault('portTaken')) {
      after(random.between(10, 200), () => this.#die(child, { exitClass: 'port-in-use', reason: 'its port is taken' }));
      return;
    }
    this.#load(child);
  }

  stop({ generation, loading, timeoutMillis }: Of<'stop'>): void {
    const { after, fault, random } = this.#hub;
    const child = this.all.get(generation);
    if (child === undefined || child.phase === 'dead') return;
    if (timeoutMillis === 0) {
      after(random.between(0, 10), () => this.#die(child, { exitClass: 'killed', reason: 'killed' }));
      return;
    }
    child.isStopping = true;
    const limit = Math.max(0, timeoutMillis);
    if (fault('ignoresStop'))
      after(limit, () => this.#die(child, { exitClass: 'killed', reason: 'it did not stop in time' }));
    else if (fault('crashStopping')) after(random.between(0, 50), () => this.#die(child, CRASH));
    else {
      const leaves = loading ? random.between(0, 50) : Math.min(limit, child.model.exitMillis);
      after(leaves, () => this.#die(child, { exitClass: 'stopped', reason: 'stopped' }));
    }
  }

  /** Told to rest. One that is used by then goes on instead. */
  park({ generation }: Of<'park'>): void {
    const child = this.all.get(generation);
    if (child === undefined) return;
    this.#hub.after(this.#hub.random.between(0, 20), () => this.#rest(child, child.model.rest ?? PARKED));
  }

  wake({ generation }: Of<'wake'>): void {
    const child = this.all.get(generation);
    if (child === undefined) return;
    // One that woke by itself, and came no further, is watched as a load only from now on.
    if (child.phase === 'stalled') this.#stall(child);
    this.#wake(child);
  }

  /** A request is being answered. */
  work(generation: number, request: RequestId): void {
    const { after, fault, random } = this.#hub;
    const child = this.all.get(generation);
    if (child === undefined) return;
    child.leases.add(request);
    child.uses += 1;
    if (child.phase === 'dead') {
      this.#onCut([request]);
      return;
    }
    if (child.phase === 'resting') this.#wake(child);
    if (!child.hasWorked) {
      child.hasWorked = true;
      child.need = sum(child.need, child.model.grows);
      this.#allocate(child, child.model.grows);
    }
    if (fault('hangs')) this.#hang(child);
    if (fault('crashServing')) after(random.between(0, 2000), () => this.#die(child, CRASH));
  }

  /** A request has been answered, or nobody wants the answer any more. */
  rest(model: ModelId, request: RequestId): void {
    for (const child of this.all.values()) {
      if (child.model.spec.id !== model || !child.leases.delete(request)) continue;
      child.uses += 1;
      this.#restLater(child);
    }
  }

  crash(model: ModelId): void {
    for (const child of this.living()) if (child.model.spec.id === model) this.#die(child, CRASH);
  }

  /** Its clients are told that their time is over. */
  hangUp({ generation }: Of<'hang-up'>): void {
    const child = this.all.get(generation);
    if (child !== undefined) this.#onCut(child.leases);
  }

  #hang(child: Child): void {
    const { after, random, tell } = this.#hub;
    const about = { type: 'hung', model: child.model.spec.id, generation: child.generation } as const;
    // Whoever watches it may be late: what it says of one that has gone must do no harm.
    const noticed = random.between(0, 4000);
    after(noticed, () => tell({ ...about, silentMillis: 3000 }));
    if (random.chance(0.5)) after(noticed + random.between(0, 4000), () => tell({ ...about, silentMillis: null }));
  }

  #load(child: Child): void {
    const { after, fault, random, tell } = this.#hub;
    const { spec, loadMillis } = child.model;
    const millis = loadMillis * (fault('slowLoad') ? 8 : 1);
    const crashesAt = fault('crashLoading') ? random.between(1, LOAD_STEPS) : 0;
    const goal = spec.contextPinned && !spec.fits ? child.need : this.#shrunk(child.need);
    child.need = goal;
    this.#loadPart(child, goal, millis, 1, crashesAt, fault('stallsLoading') ? random.between(1, LOAD_STEPS) : 0);
    if (fault('saysAbsurd')) {
      after(millis / 2, () =>
        tell({
          type: 'progress',
          model: spec.id,
          generation: child.generation,
          value: random.pick([Number.NaN, -1, 7]),
        }),
      );
    }
  }

  /** One part after the other, whatever else happens in the same instant. */
  #loadPart(child: Child, goal: DeviceBytes, millis: Millis, part: number, crashesAt: number, stallsAt: number): void {
    const { after, random, tell } = this.#hub;
    const { generation } = child;
    const { id } = child.model.spec;
    after(millis / LOAD_STEPS, () => {
      if (child.phase !== 'loading') return;
      if (part === stallsAt) {
        after(random.between(0, 4000), () => tell({ type: 'stalled', model: id, generation, silentMillis: 3000 }));
        return;
      }
      if (part === crashesAt) {
        this.#die(child, CRASH);
        return;
      }
      const before = share(goal, (part - 1) / LOAD_STEPS);
      if (!this.#allocate(child, less(share(goal, part / LOAD_STEPS), before))) return;
      if (part === LOAD_STEPS) {
        this.#up(child);
        return;
      }
      const value = part / LOAD_STEPS;
      this.#say(child, { type: 'progress', model: id, generation, value });
      this.#loadPart(child, goal, millis, part + 1, crashesAt, stallsAt);
    });
  }

  #up(child: Child): void {
    child.phase = 'up';
    const effective = child.model.saysEffective ? child.need : null;
    this.#say(
      child,
      this.#ready(child, this.#hub.fault('saysAbsurd') ? this.#hub.random.pick(ABSURD_NEEDS) : effective),
    );
    this.#restLater(child);
  }

  #ready(child: Child, effective: DeviceBytes | null): EventBody {
    const { generation, model } = child;
    const reports = reportsOf(this.#hub);
    const body = { type: 'ready', model: model.spec.id, generation, contextTokens: 4096, effective } as const;
    return reports.length === 0 ? body : { ...body, reports };
  }

  #restLater(child: Child): void {
    const { rest } = child.model;
    const { uses } = child;
    if (rest === null || child.leases.size > 0) return;
    this.#hub.after(rest.afterMillis, () => {
      if (child.uses === uses) this.#rest(child, rest);
    });
  }

  #rest(child: Child, rest: SimRest): void {
    if (child.phase !== 'up' || child.isStopping || child.leases.size > 0) return;
    child.phase = 'resting';
    for (const [name, bytes] of Object.entries(child.need)) {
      this.#hub.pools.get(name)?.shrinkTo(child.generation, Math.floor(bytes * rest.keepsShare));
    }
    this.#say(child, { type: rest.as, model: child.model.spec.id, generation: child.generation });
    if (this.#hub.fault('crashResting')) this.#hub.after(500, () => this.#die(child, CRASH));
    else if (this.#hub.fault('wakesItself')) this.#hub.after(700, () => this.#wake(child));
  }

  #wake(child: Child): void {
    const { phase, generation, model } = child;
    if (phase === 'up') this.#say(child, this.#ready(child, null));
    if (phase !== 'resting') return;
    child.uses += 1;
    if (this.#hub.fault('stallsLoading')) {
      child.phase = 'stalled';
      this.#stall(child);
      return;
    }
    child.phase = 'waking';
    this.#hub.after(model.rest?.wakeMillis ?? 0, () => {
      if (child.phase !== 'waking') return;
      const missing = Object.fromEntries(
        Object.entries(child.need).map(([name, bytes]) => [
          name,
          bytes - (this.#hub.pools.get(name)?.heldBy(generation) ?? bytes),
        ]),
      );
      if (!this.#allocate(child, missing)) return;
      child.phase = 'up';
      this.#say(child, this.#ready(child, null));
      this.#restLater(child);
    });
  }

  #stall({ generation, model }: Child): void {
    const { after, tell } = this.#hub;
    after(2000, () => tell({ type: 'stalled', model: model.spec.id, generation, silentMillis: 2000 }));
  }

  /** Takes memory everywhere, or dies of it. */
  #allocate(child: Child, amounts: DeviceBytes): boolean {
    for (const [name, bytes] of Object.entries(amounts)) {
      const pool = this.#hub.pools.get(name);
      if (pool === undefined || bytes <= 0) continue;
      if (pool.allocate(child.generation, bytes)) {
        this.bytesLoaded += bytes;
        continue;
      }
      const reason = `out of memory on ${name}`;
      const isSaid = !this.#hub.fault('saysAbsurd');
      this.#die(child, {
        exitClass: 'out-of-memory',
        reason,
        device: isSaid ? name : null,
        askedBytes: isSaid ? bytes : null,
      });
      return false;
    }
    return true;
  }

  /** What a child chooses that sizes itself to what it finds free. */
  #shrunk(need: DeviceBytes): DeviceBytes {
    return Object.fromEntries(
      Object.entries(need).map(([name, bytes]) => {
        const free = this.#hub.pools.get(name)?.freeBytes ?? bytes;
        return [name, Math.max(Math.floor(bytes * LEAST_SHARE), Math.min(bytes, Math.floor(free * 0.95)))];
      }),
    );
  }

  /** Late, or twice; but what one process says arrives in the order in which it was said. */
  #say(child: Child, body: EventBody): void {
    const { after, fault, random, tell } = this.#hub;
    const deliver = (): void => {
      const next = child.outbox.shift();
      // What a process had not yet said when it died is mostly lost.
      if (next !== undefined && (child.phase !== 'dead' || random.chance(0.3))) tell(next);
    };
    const times = fault('saysTwice') ? 2 : 1;
    for (let time = 1; time <= times; time += 1) {
      child.outbox.push(body);
      after(fault('saysLate') ? random.between(100, 3000) : 0, deliver);
    }
  }

  #die(child: Child, exit: Exit): void {
    if (child.phase === 'dead') return;
    child.phase = 'dead';
    const { after, fault, random, tell, pools } = this.#hub;
    const { generation } = child;
    const { id } = child.model.spec;
    for (const pool of pools.values()) pool.abandon(generation);
    this.#onCut(child.leases);
    const event = exitEvent(id, generation, exit);
    after(random.between(0, 20), () => tell(event));
    if (fault('exitSaidTwice')) after(random.between(0, 3000), () => tell(event));
    if (fault('speaksAfterExit')) after(random.between(0, 3000), () => tell(this.#ready(child, child.need)));
    if (fault('speaksAfterExit'))
      after(random.between(0, 3000), () => tell({ type: 'sleeping', model: id, generation }));
  }
}

const CRASH: Exit = { exitClass: 'crashed', reason: 'it crashed' };

function exitEvent(model: ModelId, generation: number, exit: Exit): EventBody {
  const { exitClass, reason, device = null, askedBytes = null } = exit;
  const exitCode = exitClass === 'stopped' ? 0 : exitClass === 'killed' ? null : 1;
  const signal = exitClass === 'killed' ? 'SIGKILL' : null;
  return { type: 'exited', model, generation, exitClass, exitCode, signal, reason, device, askedBytes };
}

/** What children say of devices that no probe serves. */
export function reportsOf({ pools }: Hub): readonly DeviceReport[] {
  return [...pools.values()]
    .filter((pool) => pool.device.probe === 'none')
    .map((pool) => ({ name: pool.device.name, totalBytes: pool.device.totalBytes, freeBytes: pool.freeBytes }));
}

/** What it will hold where it was told to go; where it has no choice, that is the first way. */
function needOf(model: SimModel, devices: readonly DeviceName[] | null): DeviceBytes {
  const goesTo = (need: DeviceBytes): boolean => {
    const names = Object.keys(need).filter((name) => name !== HOST);
    return devices !== null && names.length === devices.length && names.every((name) => devices.includes(name));
  };
  return model.needs.find(goesTo) ?? model.needs[0] ?? {};
}

function share(amounts: DeviceBytes, part: number): DeviceBytes {
  return Object.fromEntries(Object.entries(amounts).map(([name, bytes]) => [name, Math.floor(bytes * part)]));
}

function less(a: DeviceBytes, b: DeviceBytes): DeviceBytes {
  return Object.fromEntries(Object.entries(a).map(([name, bytes]) => [name, bytes - (b[name] ?? 0)]));
}

function sum(a: DeviceBytes, b: DeviceBytes): DeviceBytes {
  const all: Record<DeviceName, Bytes> = { ...a };
  for (const [name, bytes] of Object.entries(b)) all[name] = (all[name] ?? 0) + bytes;
  return all;
}
