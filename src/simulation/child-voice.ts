import type { EventBody } from '../scheduler/events.js';
import type { Hub } from './hub.js';

/** What one process says: it may come late or twice, but arrives in the order in which it was said. */
export class ChildVoice {
  readonly #hub: Hub;
  readonly #isDead: () => boolean;
  /** Said, and not yet heard. */
  readonly #outbox: EventBody[] = [];

  constructor(hub: Hub, isDead: () => boolean) {
    this.#hub = hub;
    this.#isDead = isDead;
  }

  say(body: EventBody): void {
    const { after, fault, random } = this.#hub;
    const times = fault('saysTwice') ? 2 : 1;
    for (let time = 1; time <= times; time += 1) {
      this.#outbox.push(body);
      after(fault('saysLate') ? random.between(100, 3000) : 0, () => this.#deliver());
    }
  }

  #deliver(): void {
    const next = this.#outbox.shift();
    // What a process had not yet said when it died is mostly lost.
    if (next !== undefined && (!this.#isDead() || this.#hub.random.chance(0.3))) this.#hub.tell(next);
  }
}
