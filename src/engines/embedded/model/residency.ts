/** Keeps a model in memory while there is work for it. */
export interface Residency<Model> {
  /** What is in memory now, for whoever only looks: that is no work. Null while it sleeps or wakes. */
  readonly current: Model | null;
  /**
   * Runs a task with the model, and wakes it for that where it sleeps; several tasks cause one wake. Rejects with
   * the signal's reason when it aborts before the model is there; the wake goes on, for others may want it.
   */
  use<Result>(signal: AbortSignal, task: (model: Model) => Result | Promise<Result>): Promise<Result>;
  /**
   * Has it leave memory now. What is still being used, such as by somebody who is about to notice that his request was
   * cancelled, leaves right after that, unless somebody new wants it meanwhile.
   */
  sleepNow(): void;
}

export interface ResidencyOptions<Model> {
  readonly first: Model;
  /** Time without work, counted from the end of the last one, after which the model leaves memory; null: it stays. */
  readonly idleMillis: number | null;
  load(): Promise<Model>;
  unload(model: Model): Promise<void>;
  onAsleep(): void;
  onAwake(model: Model): void;
  /** The model could not be unloaded or loaded again: nothing can be done with this process any more. */
  onFailure(error: unknown): void;
}

export function createResidency<Model>(options: ResidencyOptions<Model>): Residency<Model> {
  let current: Model | null = options.first;
  let users = 0;
  let leavesAfterUse = false;
  let timer: NodeJS.Timeout | null = null;
  /** Going to sleep, or waking. */
  let change: Promise<void> | null = null;

  const cancelSleep = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  const sleepWhenIdle = (): void => {
    cancelSleep();
    if (options.idleMillis === null || users > 0 || current === null) return;
    timer = setTimeout(fallAsleep, options.idleMillis);
    timer.unref();
  };
  const hasBeenUsed = (): void => {
    users -= 1;
    if (!leavesAfterUse || users > 0) return sleepWhenIdle();
    leavesAfterUse = false;
    fallAsleep();
  };
  const doing = (work: () => Promise<void>): Promise<void> => {
    change = work()
      .catch((error: unknown) => {
        options.onFailure(error);
        throw error;
      })
      .finally(() => (change = null));
    // Whoever waits for it hears of a failure; it may be that nobody does.
    change.catch(() => undefined);
    return change;
  };
  const fallAsleep = (): void => {
    if (users > 0 || current === null) return;
    const model = current;
    current = null;
    void doing(async () => {
      await options.unload(model);
      options.onAsleep();
    });
  };
  const awake = async (): Promise<Model> => {
    while (current === null) {
      await (change ??
        doing(async () => {
          current = await options.load();
          options.onAwake(current);
          sleepWhenIdle();
        }));
    }
    return current;
  };

  sleepWhenIdle();
  return {
    get current() {
      return current;
    },
    sleepNow() {
      cancelSleep();
      if (users > 0) leavesAfterUse = true;
      else fallAsleep();
    },
    async use(signal, task) {
      signal.throwIfAborted();
      users += 1;
      leavesAfterUse = false;
      cancelSleep();
      try {
        const model = current ?? (await orAborted(awake(), signal));
        return await task(model);
      } finally {
        hasBeenUsed();
      }
    },
  };
}

async function orAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
