import type { EventBody } from '../scheduler/events.js';
import type { Instance } from '../scheduler/state.js';
import type { Bytes, Millis, ModelId } from '../scheduler/units.js';

/** How often the children are looked at; a small limit is looked at more often. */
const TICK_MILLIS: Millis = 1000;
const TICKS_PER_LIMIT = 10;
/** One that is at work may be silent for this share of the limit, and no longer than this, before it is asked. */
const SUSPICIOUS_SHARE = 1 / 4;
const SUSPICIOUS_MILLIS: Millis = 15_000;

export interface ChildWatchOptions {
  /** A load that gives no sign of life for so long is stalled; 0: never. */
  readonly loadTimeoutMillis: (model: ModelId) => Millis;
  /** The least of them that is not 0; 0 where all are. */
  readonly shortestLoadTimeoutMillis: Millis;
  /** An instance at work that gives none for so long is hung; 0: never. */
  readonly hangTimeoutMillis: Millis;
  /** What runs, by model. */
  readonly running: () => readonly (readonly [ModelId, Instance])[];
  /** Grows with everything that a generation prints, and with everything of it that reaches a client. */
  readonly bytesOf: (generation: number) => Bytes;
  /** CPU time used so far, in any unit; null: unknown. */
  readonly cpuOf: (pid: number) => number | null;
  /** Whether a generation answers on /health. */
  readonly answers: (generation: number, limitMillis: Millis) => Promise<boolean>;
  readonly dispatch: (event: EventBody) => void;
}

interface Watched {
  phase: Instance['phase'];
  bytes: Bytes;
  /** The most that it was seen to hold. */
  residentBytes: Bytes;
  /** Null: not looked at yet, or unknown. */
  cpu: number | null;
  isAsked: boolean;
  hasAnswered: boolean;
  isReported: boolean;
  silentMillis: Millis;
}

/**
 * Notices children that give no sign of life: those that load and those that have work. Costs nothing while all is
 * well: a child's CPU time is read only when it has been silent for a while, and it is asked only when that stands still.
 */
export class ChildWatch {
  readonly #options: ChildWatchOptions;
  readonly #watched = new Map<number, Watched>();
  #timer: NodeJS.Timeout | null = null;
  #lookedAt: Millis = 0;

  constructor(options: ChildWatchOptions) {
    this.#options = options;
  }

  start(): void {
    const tick = this.#tickMillis();
    this.#lookedAt = performance.now();
    this.#timer = setInterval(() => this.#tick(tick), tick);
    this.#timer.unref();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #tickMillis(): Millis {
    const { hangTimeoutMillis, shortestLoadTimeoutMillis } = this.#options;
    const limits = [hangTimeoutMillis, shortestLoadTimeoutMillis].filter((limit) => limit > 0);
    return Math.max(10, Math.min(TICK_MILLIS, ...limits.map((limit) => limit / TICKS_PER_LIMIT)));
  }

  #tick(tickMillis: Millis): void {
    const now = performance.now();
    // Time in which this process itself stood still says nothing about its children.
    const passed = Math.min(now - this.#lookedAt, 2 * tickMillis);
    this.#lookedAt = now;
    const running = this.#options.running();
    const living = new Set(running.map(([, { generation }]) => generation));
    for (const generation of this.#watched.keys()) if (!living.has(generation)) this.#watched.delete(generation);
    for (const [model, instance] of running) this.#look(model, instance, passed);
  }

  #look(model: ModelId, instance: Instance, passed: Millis): void {
    const { generation, phase } = instance;
    const isAtWork = phase === 'ready' && instance.leases.length > 0;
    const watched = this.#watched.get(generation);
    if (watched?.phase !== phase || (phase !== 'loading' && !isAtWork)) {
      if (watched?.isReported && watched.phase === 'ready')
        this.#options.dispatch({ type: 'hung', model, generation, silentMillis: null });
      this.#watched.set(generation, this.#fresh(instance));
      return;
    }
    watched.silentMillis = this.#showsLife(watched, instance) ? 0 : watched.silentMillis + passed;
    if (phase === 'loading') this.#lookAtLoad(model, generation, watched);
    else this.#lookAtWork(model, instance, watched);
  }

  #fresh({ phase, generation, resident }: Instance): Watched {
    return {
      phase,
      bytes: this.#options.bytesOf(generation),
      residentBytes: sum(resident),
      cpu: null,
      isAsked: false,
      hasAnswered: false,
      isReported: false,
      silentMillis: 0,
    };
  }

  #showsLife(watched: Watched, { generation, resident }: Instance): boolean {
    const bytes = this.#options.bytesOf(generation);
    const residentBytes = sum(resident);
    const isAlive = bytes !== watched.bytes || residentBytes > watched.residentBytes || watched.hasAnswered;
    watched.bytes = bytes;
    watched.residentBytes = Math.max(watched.residentBytes, residentBytes);
    watched.hasAnswered = false;
    return isAlive;
  }

  #lookAtLoad(model: ModelId, generation: number, watched: Watched): void {
    const limit = this.#options.loadTimeoutMillis(model);
    if (limit === 0 || watched.silentMillis < limit || watched.isReported) return;
    watched.isReported = true;
    this.#options.dispatch({ type: 'stalled', model, generation, silentMillis: Math.round(watched.silentMillis) });
  }

  #lookAtWork(model: ModelId, instance: Instance, watched: Watched): void {
    const { hangTimeoutMillis: limit, dispatch } = this.#options;
    const { generation } = instance;
    if (limit === 0) return;
    if (watched.silentMillis >= Math.min(SUSPICIOUS_MILLIS, limit * SUSPICIOUS_SHARE)) this.#suspect(instance, watched);
    if (watched.silentMillis === 0 && watched.isReported) {
      watched.isReported = false;
      dispatch({ type: 'hung', model, generation, silentMillis: null });
    }
    // Without its CPU time nobody can tell one that thinks from one that hangs.
    if (watched.silentMillis < limit || watched.isReported || watched.cpu === null) return;
    watched.isReported = true;
    dispatch({ type: 'hung', model, generation, silentMillis: Math.round(watched.silentMillis) });
  }

  #suspect({ pid, generation }: Instance, watched: Watched): void {
    const before = watched.cpu;
    watched.cpu = pid === null ? null : this.#options.cpuOf(pid);
    if (watched.cpu === null || before === null) return;
    if (watched.cpu > before) {
      watched.silentMillis = 0;
      return;
    }
    if (watched.isAsked) return;
    watched.isAsked = true;
    void this.#options.answers(generation, this.#options.hangTimeoutMillis / 2).then((answers) => {
      watched.isAsked = false;
      watched.hasAnswered = answers;
    });
  }
}

function sum(amounts: Readonly<Record<string, Bytes>>): Bytes {
  return Object.values(amounts).reduce((total, bytes) => total + bytes, 0);
}
