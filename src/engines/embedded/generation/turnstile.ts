/** Lets generations pass one token at a time, and holds them back while something else needs the context alone. */
export interface Turnstile {
  /** To be awaited before each token. */
  pass(): Promise<void>;
  /** Runs `work` while nothing new passes. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * node-llama-cpp keeps its lock on a context for as long as any sequence has tokens queued. Two generations in
 * alternation always have, so a third that must first erase what is in its sequence would wait until they end.
 */
export function createTurnstile(): Turnstile {
  let closedBy = 0;
  let waiting: (() => void)[] = [];
  return {
    async pass() {
      while (closedBy > 0) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    async exclusively(work) {
      closedBy += 1;
      try {
        return await work();
      } finally {
        closedBy -= 1;
        if (closedBy === 0) {
          const released = waiting;
          waiting = [];
          for (const resolve of released) resolve();
        }
      }
    },
  };
}
