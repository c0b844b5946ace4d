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
  readonly promptTokens: number;
  generatedTokens: number;
}

interface Waiter {
  readonly prompt: readonly Token[];
  readonly give: (slot: Slot) => void;
}

/** Hands out sequences, first come, first served. */
export interface SequencePool {
  readonly slots: readonly Slot[];
  /** How many wait. */
  readonly waiting: number;
  /**
   * Waits for a free sequence, preferably the one that already holds the beginning of the prompt. Rejects with the
   * signal's reason when it aborts first.
   */
  acquire(prompt: readonly Token[], signal: AbortSignal): Promise<Slot>;
  release(slot: Slot): void;
}

export function createSequencePool(sequences: readonly LlamaContextSequence[]): SequencePool {
  const slots = sequences.map((sequence, id): Slot => ({ id, sequence, task: null, lastUsed: 0 }));
  const waiters: Waiter[] = [];
  let uses = 0;

  const occupy = (slot: Slot, prompt: readonly Token[]): Slot => {
    slot.task = { promptTokens: prompt.length, generatedTokens: 0 };
    slot.lastUsed = uses += 1;
    return slot;
  };

  return {
    slots,
    get waiting() {
      return waiters.length;
    },
    acquire(prompt, signal) {
      signal.throwIfAborted();
      const best = bestOf(
        slots.filter(({ task }) => task === null),
        prompt,
      );
      if (best !== null) return Promise.resolve(occupy(best, prompt));
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          waiters.splice(waiters.indexOf(waiter), 1);
          reject(signal.reason as Error);
        };
        const waiter: Waiter = {
          prompt,
          give: (slot) => {
            signal.removeEventListener('abort', leave);
            resolve(occupy(slot, prompt));
          },
        };
        signal.addEventListener('abort', leave, { once: true });
        waiters.push(waiter);
      });
    },
    release(slot) {
      slot.task = null;
      waiters.shift()?.give(slot);
    },
  };
}

/** The free slot with the longest part of the prompt; among equals the one unused for longest. */
function bestOf(free: readonly Slot[], prompt: readonly Token[]): Slot | null {
  let best: { readonly slot: Slot; readonly shared: number } | null = null;
  for (const slot of free) {
    const shared = slot.sequence.compareContextTokens([...prompt]).firstDifferentIndex;
    if (best === null || shared > best.shared || (shared === best.shared && slot.lastUsed < best.slot.lastUsed)) {
      best = { slot, shared };
    }
  }
  return best?.slot ?? null;
}
