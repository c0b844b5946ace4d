import type { ModelId } from '../scheduler/units.js';

/** Conversations remembered; the oldest are forgotten first. */
const KEPT = 4096;
/** A longer name is nobody's conversation. */
const LONGEST_NAME = 512;

interface Conversation {
  readonly model: ModelId;
  readonly stop: AbortController;
}

/**
 * Which model answers a conversation (`X-Conversation-Id`), so that a page that was reloaded finds its answer again.
 * A child keeps the answer of a conversation for a while; `/v1/stream` reads on in it.
 */
export class Conversations {
  readonly #known = new Map<string, Conversation>();

  /** A request belongs to a conversation; null when it has none. `stopped` aborts when the conversation is stopped. */
  begin(name: unknown, model: ModelId): { readonly stopped: AbortSignal } | null {
    if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME) return null;
    const stop = new AbortController();
    this.#known.delete(name);
    this.#known.set(name, { model, stop });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= KEPT) break;
      this.#known.delete(oldest);
    }
    return { stopped: stop.signal };
  }

  modelOf(name: string): ModelId | null {
    return this.#known.get(name)?.model ?? null;
  }

  /** Forgets it; a request of it that still waits for its model is given up. */
  end(name: string): void {
    this.#known.get(name)?.stop.abort(new ConversationStopped());
    this.#known.delete(name);
  }
}

export class ConversationStopped extends Error {
  override readonly name = 'ConversationStopped';

  constructor() {
    super('the conversation was stopped while its model was loading');
  }
}
