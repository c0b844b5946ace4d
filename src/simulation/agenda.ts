import type { Millis } from '../scheduler/units.js';

interface Item {
  readonly at: Millis;
  /** Orders what happens at the same time. */
  readonly rank: number;
  readonly number: number;
  /** False for what goes on for ever and keeps nobody waiting, like sampling. */
  readonly matters: boolean;
  readonly act: () => void;
}

/** What is still to happen, soonest first: a binary heap. Among equals the lower rank, then the earlier entry goes first. */
export class Agenda {
  readonly #heap: Item[] = [];
  #entered = 0;
  #mattering = 0;

  /** How many entries there are that something may be waiting for. */
  get mattering(): number {
    return this.#mattering;
  }

  get isEmpty(): boolean {
    return this.#heap.length === 0;
  }

  enter(at: Millis, rank: number, matters: boolean, act: () => void): void {
    const heap = this.#heap;
    this.#entered += 1;
    if (matters) this.#mattering += 1;
    const item = { at, rank, number: this.#entered, matters, act };
    let place = heap.length;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above] as Item;
      if (!isBefore(item, parent)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = item;
  }

  /** Takes the next one out; null when nothing is left. */
  next(): { readonly at: Millis; readonly act: () => void } | null {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return null;
    if (first.matters) this.#mattering -= 1;
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(item: Item): void {
    const heap = this.#heap;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      const right = heap[below + 1];
      if (right !== undefined && isBefore(right, heap[below] as Item)) below += 1;
      const child = heap[below];
      if (child === undefined || !isBefore(child, item)) break;
      heap[place] = child;
      place = below;
    }
    heap[place] = item;
  }
}

function isBefore(a: Item, b: Item): boolean {
  return a.at !== b.at ? a.at < b.at : a.rank !== b.rank ? a.rank < b.rank : a.number < b.number;
}
