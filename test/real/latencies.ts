import { setTimeout as delay } from 'node:timers/promises';
import { ask } from './clients.js';

/** How long requests took that were asked one after the other, for as long as it ran. */
export interface Latencies {
  readonly count: number;
  readonly medianMillis: number;
  readonly p99Millis: number;
  readonly failures: readonly string[];
}

export interface Beats {
  readonly health: Latencies;
  readonly answers: Latencies;
  readonly machine: Latencies;
}

const HEALTH_PAUSE_MILLIS = 20;
const ANSWER_PAUSE_MILLIS = 10;

/** Asks `/health` and a model that is loaded, again and again, until it is told to stop. */
export class Pulse {
  readonly #stopping = new AbortController();
  readonly #health: Promise<Latencies>;
  readonly #answers: Promise<Latencies>;
  readonly #machine: Promise<Latencies>;

  constructor(url: string, model: string) {
    this.#health = this.#repeat(HEALTH_PAUSE_MILLIS, async () => {
      const { status } = await fetch(`${url}/health`);
      return status === 200 ? null : `/health answered ${status}`;
    });
    this.#machine = this.#repeat(HEALTH_PAUSE_MILLIS, async () => {
      await delay(1);
      return null;
    });
    this.#answers = this.#repeat(ANSWER_PAUSE_MILLIS, () => ask(url, model, { tokens: 1 }));
  }

  /** What it measured; `machine` is how long nothing takes: how late one millisecond is over. */
  async stop(): Promise<Beats> {
    this.#stopping.abort();
    const [health, answers, machine] = await Promise.all([this.#health, this.#answers, this.#machine]);
    return { health, answers, machine };
  }

  async #repeat(pauseMillis: number, request: () => Promise<string | null>): Promise<Latencies> {
    const took: number[] = [];
    const failures: string[] = [];
    while (!this.#stopping.signal.aborted) {
      const began = performance.now();
      const failure = await request();
      took.push(performance.now() - began);
      if (failure !== null) failures.push(failure);
      await delay(pauseMillis);
    }
    took.sort((a, b) => a - b);
    const at = (share: number): number => took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0;
    return { count: took.length, medianMillis: at(0.5), p99Millis: at(0.99), failures };
  }
}

export function sayLatencies({ count, medianMillis, p99Millis }: Latencies): string {
  return `median ${medianMillis.toFixed(1)} ms, p99 ${p99Millis.toFixed(1)} ms of ${count}`;
}
