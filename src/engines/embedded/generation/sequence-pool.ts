import type { LlamaContextSequence, Token } from 'node-llama-cpp';

/** One of the generations that can go on at once. */
export interface Slot {
  readonly id: number;
  readonly sequence: LlamaContextSequence;
  /** What goes on in it, for `/slots`; null when it is free. */
  task: SlotTask | null;
  lastUsed: number;
}

export interface SlotTask {
  readonly id: number;
  readonly promptTokens: number;
  /** Of the prompt, taken over from what was in the sequence before. */
  cachedTokens: number;
  /** Of the prompt, evaluated so far. */
  evaluatedTokens: number;
  generatedTokens: number;
}

interface Waiter {
  readonly prompt: readonly Token[];
  readonly count: number;
  readonly give: (slots: readonly Slot[]) => void;
}

/** Hands out sequences, first come, first served. */
export interface SequencePool {
  readonly slots: readonly Slot[];
  /** How many requests wait. */
  readonly waiting: number;
  /**
   * Waits for `count` free sequences (at most all there are), given all at once, so that two requests never hold
   * what the other one lacks. The first one preferably holds the beginning of the prompt already. Rejects with the
   * signal's reason when it aborts first.
   */
  acquire(prompt: readonly Token[], count: number, signal: AbortSignal): Promise<readonly Slot[]>;
  release(slots: readonly Slot[]): void;
}

export function createSequencePool(sequences: readonly LlamaContextSequence[]): SequencePool {
  const slots = sequences.map((sequence, id): Slot => ({ id, sequence, task: null, lastUsed: 0 }));
  const waiters: Waiter[] = [];
  let uses = 0;

  const free = (): readonly Slot[] => slots.filter(({ task }) => task === null);
  const occupy = (prompt: readonly Token[], count: number): readonly Slot[] => {
    const taken = byUsefulness(free(), prompt).slice(0, count);
    const id = (uses += 1);
    for (const slot of taken) {
      slot.task = { id, promptTokens: prompt.length, cachedTokens: 0, evaluatedTokens: 0, generatedTokens: 0 };
      slot.lastUsed = id;
    }
    return taken;
  };
  const serveWaiters = (): void => {
    for (let next = waiters[0]; next !== undefined && free().length >= next.count; next = waiters[0]) {
      waiters.shift();
      next.give(occupy(next.prompt, next.count));
    }
  };

  return {
    slots,
    get waiting() {
      return waiters.length;
    },
    acquire(prompt, wanted, signal) {
      signal.throwIfAborted();
      const count = Math.min(wanted, slots.length);
      if (waiters.length === 0 && free().length >= count) return Promise.resolve(occupy(prompt, count));
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          waiters.splice(waiters.indexOf(waiter), 1);
          reject(signal.reason as Error);
          serveWaiters();
        };
        const waiter: Waiter = {
          prompt,
          count,
          give: (given) => {
            signal.removeEventListener('abort', leave);
            resolve(given);
          },
        };
        signal.addEventListener('abort', leave, { once: true });
        waiters.push(waiter);
      });
    },
    release(given) {
      for (const slot of given) slot.task = null;
      serveWaiters();
    },
  };
}

/** The slots with the longest part of the prompt first; among equals the one unused for longest. */
function byUsefulness(free: readonly Slot[], prompt: readonly Token[]): readonly Slot[] {
  return free
    .map((slot) => ({ slot, shared: slot.sequence.compareContextTokens([...prompt]).firstDifferentIndex }))
    .sort((a, b) => b.shared - a.shared || a.slot.lastUsed - b.slot.lastUsed)
    .map(({ slot }) => slot);
}
