import { Client } from 'undici';

/** Idle connections to one child that are kept at most. */
const KEPT_IDLE = 256;

/** A connection to a child that is nobody else's until it is given back. */
export interface Borrowed {
  readonly client: Client;
  /**
   * True when it has served before. A child closes an idle connection when it likes, perhaps just as it is written to:
   * what fails on such a connection before any answer was never looked at.
   */
  readonly reused: boolean;
}

/** The connections to the children: as many as are in use at once, kept open between requests. */
export class ChildConnections {
  readonly #timeoutMillis: number;
  readonly #pools = new Map<number, ChildPool>();

  /** `timeoutMillis`: how long a child may be silent in the middle of a request; 0: for ever. */
  constructor(timeoutMillis: number) {
    this.#timeoutMillis = timeoutMillis;
  }

  poolFor(generation: number, port: number): ChildPool {
    let pool = this.#pools.get(generation);
    if (pool === undefined) {
      pool = new ChildPool(port, this.#timeoutMillis);
      this.#pools.set(generation, pool);
    }
    return pool;
  }

  /** Ends what a generation is still answering, also over connections that were upgraded. */
  hangUp(generation: number): void {
    const pool = this.#pools.get(generation);
    this.#pools.delete(generation);
    pool?.close();
  }

  /** Ends the connections to generations that are gone. */
  keepOnly(generations: ReadonlySet<number>): void {
    for (const generation of this.#pools.keys()) {
      if (!generations.has(generation)) this.hangUp(generation);
    }
  }

  close(): void {
    this.keepOnly(new Set());
  }
}

/** The connections to one child. */
export class ChildPool {
  readonly #origin: string;
  readonly #options: Client.Options;
  /** The one used last is at the end, and the next to be used: so few are kept alive, and those are warm. */
  readonly #idle: Client[] = [];
  readonly #connected = new WeakSet<Client>();
  readonly #all = new Set<Client>();
  readonly #others = new Set<{ destroy(): unknown }>();
  #closed = false;

  constructor(port: number, timeoutMillis: number) {
    this.#origin = `http://127.0.0.1:${port}`;
    this.#options = {
      pipelining: 1,
      headersTimeout: timeoutMillis,
      bodyTimeout: timeoutMillis,
      // A child on this machine that listens accepts at once, or is stopped: it is not for us to say for how long.
      connectTimeout: 0,
      maxHeaderSize: 128 * 1024,
      // llama-server closes after 5 s, and says so; others may not.
      keepAliveTimeout: 2_500,
      allowH2: false,
    };
  }

  take(): Borrowed {
    const client = this.#idle.pop();
    if (client === undefined) return this.takeNew();
    return { client, reused: this.#connected.has(client) };
  }

  /** A connection that nothing was ever sent on. */
  takeNew(): Borrowed {
    const client = new Client(this.#origin, this.#options);
    this.#all.add(client);
    client.on('connect', () => this.#connected.add(client));
    client.on('disconnect', () => this.#lost(client));
    return { client, reused: false };
  }

  /** Its response is complete: the next may have it. */
  giveBack(client: Client): void {
    if (this.#closed || this.#idle.length >= KEPT_IDLE) this.drop(client);
    else if (this.#all.has(client)) this.#idle.push(client);
  }

  /** A connection of another kind ends with the pool; returns the function that takes it out again. */
  keep(connection: { destroy(): unknown }): () => void {
    this.#others.add(connection);
    return () => this.#others.delete(connection);
  }

  /** Something went wrong on it, or its client has gone in the middle. */
  drop(client: Client): void {
    this.#all.delete(client);
    client.destroy().catch(() => undefined);
  }

  close(): void {
    this.#closed = true;
    this.#idle.length = 0;
    for (const client of [...this.#all]) this.drop(client);
    for (const other of [...this.#others]) other.destroy();
  }

  #lost(client: Client): void {
    this.#connected.delete(client);
    const at = this.#idle.indexOf(client);
    if (at < 0) return;
    this.#idle.splice(at, 1);
    this.drop(client);
  }
}
