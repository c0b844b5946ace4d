import type { Effect } from '../scheduler/effects.js';
import type { EventBody } from '../scheduler/events.js';
import type { ExitClass } from '../scheduler/state.js';
import type { Bytes, DeviceBytes, DeviceName, Millis, ModelId, RequestId } from '../scheduler/units.js';
import { less, needOf, reportsOf, share, shrunk, sum } from './child-memory.js';
import { ChildVoice } from './child-voice.js';
import type { SimModel, SimRest } from './config.js';
import type { Hub } from './hub.js';

type Of<T extends Effect['type']> = Extract<Effect, { type: T }>;

interface Exit {
  readonly exitClass: ExitClass;
  readonly reason: string;
  readonly device?: DeviceName | null;
  readonly askedBytes?: Bytes | null;
}

/** A load takes its memory in so many goes, and tells of its progress after each. */
const LOAD_STEPS = 3;

/** How one rests that is told to, and has no way of its own. */
const PARKED: SimRest = { as: 'sleeping', afterMillis: 0, keepsShare: 0, wakeMillis: 500 };

const CRASH: Exit = { exitClass: 'crashed', reason: 'it crashed' };

const ABSURD_NEEDS: readonly Record<string, number>[] = [
  {},
  { CUDA0: Number.NaN },
  { CUDA0: -5 },
  { CUDA0: 1e300 },
  { '': 1.5 },
];

/** One child process of a world: it takes memory, speaks, rests and ends, as it is told or not. */
export class Child {
  readonly model: SimModel;
  readonly generation: number;
  phase: 'loading' | 'up' | 'resting' | 'waking' | 'stalled' | 'dead' = 'loading';
  readonly leases: Set<RequestId> = new Set();
  /** What it has really taken, again and again. */
  bytesLoaded: Bytes = 0;
  readonly #hub: Hub;
  readonly #onCut: (requests: Iterable<RequestId>) => void;
  readonly #voice: ChildVoice;
  /** What it holds when it is awake. */
  #need: DeviceBytes;
  #hasWorked = false;
  #isStopping = false;
  /** Changes with every use, so that only the latest idle time counts. */
  #uses = 0;

  constructor(
    hub: Hub,
    model: SimModel,
    { generation, devices }: Of<'spawn'>,
    onCut: (requests: Iterable<RequestId>) => void,
  ) {
    this.#hub = hub;
    this.#onCut = onCut;
    this.model = model;
    this.generation = generation;
    this.#voice = new ChildVoice(hub, () => this.phase === 'dead');
    this.#need = needOf(model, devices);
  }

  get id(): ModelId {
    return this.model.spec.id;
  }

  start(): void {
    const { after, fault, random } = this.#hub;
    if (fault('spawnFails')) {
      this.#die({ exitClass: 'crashed', reason: 'it could not be started' });
      return;
    }
    after(random.between(0, 10), () =>
      this.#voice.say({ type: 'spawned', model: this.id, generation: this.generation, pid: 1000 + this.generation }),
    );
    if (fault('portTaken')) {
      after(random.between(10, 200), () => this.#die({ exitClass: 'port-in-use', reason: 'its port is taken' }));
      return;
    }
    this.#load();
  }

  stop({ loading, timeoutMillis }: Of<'stop'>): void {
    const { after, fault, random } = this.#hub;
    if (timeoutMillis === 0) {
      after(random.between(0, 10), () => this.#die({ exitClass: 'killed', reason: 'killed' }));
      return;
    }
    this.#isStopping = true;
    const limit = Math.max(0, timeoutMillis);
    if (fault('ignoresStop')) after(limit, () => this.#die({ exitClass: 'killed', reason: 'it did not stop in time' }));
    else if (fault('crashStopping')) after(random.between(0, 50), () => this.crash());
    else {
      const leaves = loading ? random.between(0, 50) : Math.min(limit, this.model.exitMillis);
      after(leaves, () => this.#die({ exitClass: 'stopped', reason: 'stopped' }));
    }
  }

  /** Told to rest. One that is used by then goes on instead. */
  park(): void {
    this.#hub.after(this.#hub.random.between(0, 20), () => this.#rest(this.model.rest ?? PARKED));
  }

  wake(): void {
    // One that woke by itself, and came no further, is watched as a load only from now on.
    if (this.phase === 'stalled') this.#stall();
    this.#wake();
  }

  /** A request is being answered. */
  work(request: RequestId): void {
    const { after, fault, random } = this.#hub;
    this.leases.add(request);
    this.#uses += 1;
    if (this.phase === 'dead') {
      this.#onCut([request]);
      return;
    }
    if (this.phase === 'resting') this.#wake();
    if (!this.#hasWorked) {
      this.#hasWorked = true;
      this.#need = sum(this.#need, this.model.grows);
      this.#allocate(this.model.grows);
    }
    if (fault('hangs')) this.#hang();
    if (fault('crashServing')) after(random.between(0, 2000), () => this.crash());
  }

  /** A request has been answered, or nobody wants the answer any more. */
  endWork(request: RequestId): void {
    if (!this.leases.delete(request)) return;
    this.#uses += 1;
    this.#restLater();
  }

  crash(): void {
    this.#die(CRASH);
  }

  #hang(): void {
    const { after, random, tell } = this.#hub;
    const about = { type: 'hung', model: this.id, generation: this.generation } as const;
    // Whoever watches it may be late: what it says of one that has gone must do no harm.
    const noticed = random.between(0, 4000);
    after(noticed, () => tell({ ...about, silentMillis: 3000 }));
    if (random.chance(0.5)) after(noticed + random.between(0, 4000), () => tell({ ...about, silentMillis: null }));
  }

  #load(): void {
    const { after, fault, random, tell, pools } = this.#hub;
    const { spec, loadMillis } = this.model;
    const millis = loadMillis * (fault('slowLoad') ? 8 : 1);
    const crashesAt = fault('crashLoading') ? random.between(1, LOAD_STEPS) : 0;
    if (!spec.contextPinned || spec.fits) this.#need = shrunk(this.#need, pools);
    this.#loadPart(millis, 1, crashesAt, fault('stallsLoading') ? random.between(1, LOAD_STEPS) : 0);
    if (fault('saysAbsurd')) {
      const about = { type: 'progress', model: this.id, generation: this.generation } as const;
      after(millis / 2, () => tell({ ...about, value: random.pick([Number.NaN, -1, 7]) }));
    }
  }

  /** One part after the other, whatever else happens in the same instant. */
  #loadPart(millis: Millis, part: number, crashesAt: number, stallsAt: number): void {
    const { after, random, tell } = this.#hub;
    const { id, generation } = this;
    after(millis / LOAD_STEPS, () => {
      if (this.phase !== 'loading') return;
      if (part === stallsAt) {
        after(random.between(0, 4000), () => tell({ type: 'stalled', model: id, generation, silentMillis: 3000 }));
        return;
      }
      if (part === crashesAt) {
        this.crash();
        return;
      }
      const before = share(this.#need, (part - 1) / LOAD_STEPS);
      if (!this.#allocate(less(share(this.#need, part / LOAD_STEPS), before))) return;
      if (part === LOAD_STEPS) {
        this.#up();
        return;
      }
      this.#voice.say({ type: 'progress', model: id, generation, value: part / LOAD_STEPS });
      this.#loadPart(millis, part + 1, crashesAt, stallsAt);
    });
  }

  #up(): void {
    const { fault, random } = this.#hub;
    this.phase = 'up';
    const effective = this.model.saysEffective ? this.#need : null;
    this.#voice.say(this.#ready(fault('saysAbsurd') ? random.pick(ABSURD_NEEDS) : effective));
    this.#restLater();
  }

  #ready(effective: DeviceBytes | null): EventBody {
    const reports = reportsOf(this.#hub.pools);
    const { id, generation } = this;
    const body = { type: 'ready', model: id, generation, contextTokens: 4096, effective } as const;
    return reports.length === 0 ? body : { ...body, reports };
  }

  #restLater(): void {
    const { rest } = this.model;
    const uses = this.#uses;
    if (rest === null || this.leases.size > 0) return;
    this.#hub.after(rest.afterMillis, () => {
      if (this.#uses === uses) this.#rest(rest);
    });
  }

  #rest(rest: SimRest): void {
    const { after, fault, pools } = this.#hub;
    if (this.phase !== 'up' || this.#isStopping || this.leases.size > 0) return;
    this.phase = 'resting';
    for (const [name, bytes] of Object.entries(this.#need)) {
      pools.get(name)?.shrinkTo(this.generation, Math.floor(bytes * rest.keepsShare));
    }
    this.#voice.say({ type: rest.as, model: this.id, generation: this.generation });
    if (fault('crashResting')) after(500, () => this.crash());
    else if (fault('wakesItself')) after(700, () => this.#wake());
  }

  #wake(): void {
    const { after, fault } = this.#hub;
    const phase = this.phase;
    if (phase === 'up') this.#voice.say(this.#ready(null));
    if (phase !== 'resting') return;
    this.#uses += 1;
    if (fault('stallsLoading')) {
      this.phase = 'stalled';
      this.#stall();
      return;
    }
    this.phase = 'waking';
    after(this.model.rest?.wakeMillis ?? 0, () => {
      if (this.phase !== 'waking' || !this.#allocate(this.#missing())) return;
      this.phase = 'up';
      this.#voice.say(this.#ready(null));
      this.#restLater();
    });
  }

  /** What it does not hold of what it needs awake. */
  #missing(): DeviceBytes {
    const { pools } = this.#hub;
    return Object.fromEntries(
      Object.entries(this.#need).map(([name, bytes]) => [
        name,
        bytes - (pools.get(name)?.heldBy(this.generation) ?? bytes),
      ]),
    );
  }

  #stall(): void {
    const { after, tell } = this.#hub;
    const about = { type: 'stalled', model: this.id, generation: this.generation } as const;
    after(2000, () => tell({ ...about, silentMillis: 2000 }));
  }

  /** Takes memory everywhere, or dies of it. */
  #allocate(amounts: DeviceBytes): boolean {
    for (const [name, bytes] of Object.entries(amounts)) {
      const pool = this.#hub.pools.get(name);
      if (pool === undefined || bytes <= 0) continue;
      if (pool.allocate(this.generation, bytes)) {
        this.bytesLoaded += bytes;
        continue;
      }
      const reason = `out of memory on ${name}`;
      const isSaid = !this.#hub.fault('saysAbsurd');
      const what = isSaid ? { device: name, askedBytes: bytes } : {};
      this.#die({ exitClass: 'out-of-memory', reason, ...what });
      return false;
    }
    return true;
  }

  #die(exit: Exit): void {
    if (this.phase === 'dead') return;
    this.phase = 'dead';
    const { after, fault, random, tell, pools } = this.#hub;
    const { id, generation } = this;
    for (const pool of pools.values()) pool.abandon(generation);
    this.#onCut(this.leases);
    const event = exitEvent(id, generation, exit);
    after(random.between(0, 20), () => tell(event));
    if (fault('exitSaidTwice')) after(random.between(0, 3000), () => tell(event));
    if (fault('speaksAfterExit')) after(random.between(0, 3000), () => tell(this.#ready(this.#need)));
    if (fault('speaksAfterExit'))
      after(random.between(0, 3000), () => tell({ type: 'sleeping', model: id, generation }));
  }
}

/** What is told of a process that has ended, or could not be started. */
export function exitEvent(model: ModelId, generation: number, exit: Exit): EventBody {
  const { exitClass, reason, device = null, askedBytes = null } = exit;
  const exitCode = exitClass === 'stopped' ? 0 : exitClass === 'killed' ? null : 1;
  const signal = exitClass === 'killed' ? 'SIGKILL' : null;
  return { type: 'exited', model, generation, exitClass, exitCode, signal, reason, device, askedBytes };
}
