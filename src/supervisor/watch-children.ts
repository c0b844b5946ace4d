import type { CatalogEntry } from '../catalog/entry.js';
import type { EventBody } from '../scheduler/events.js';
import { runningOf } from '../scheduler/running.js';
import type { State } from '../scheduler/state.js';
import type { Millis, ModelId } from '../scheduler/units.js';
import { answersHealth } from './ask-health.js';
import { ChildWatch } from './child-watch.js';
import type { Children } from './children.js';
import { readCpuTicks } from './cpu-time.js';
import type { ModelBook } from './model-book.js';

/** How long a child may give no sign of life; 0: for ever. */
export interface SilenceLimits {
  /** While it loads, where its entry says nothing else. */
  readonly loadTimeoutMillis: Millis;
  /** While it has work. */
  readonly hangTimeoutMillis: Millis;
}

export interface WatchedChildren {
  readonly limits: SilenceLimits;
  readonly book: Pick<ModelBook, 'entries' | 'entry'>;
  readonly children: Pick<Children, 'bytesOf' | 'portOf'>;
  readonly state: () => State;
  readonly dispatch: (event: EventBody) => void;
}

/** The watch over children that give no sign of life, by what each entry allows. */
export function watchChildren({ limits, book, children, state, dispatch }: WatchedChildren): ChildWatch {
  const limitOf = (entry: CatalogEntry | null): Millis => entry?.loadTimeoutMillis ?? limits.loadTimeoutMillis;
  const timeouts = book
    .entries()
    .map(limitOf)
    .filter((millis) => millis > 0);
  return new ChildWatch({
    loadTimeoutMillis: (model: ModelId) => limitOf(book.entry(model)),
    shortestLoadTimeoutMillis: timeouts.length === 0 ? 0 : Math.min(...timeouts),
    hangTimeoutMillis: limits.hangTimeoutMillis,
    running: () => runningOf(state()),
    bytesOf: (generation) => children.bytesOf(generation),
    cpuOf: readCpuTicks,
    answers: async (generation, limitMillis) => {
      const port = children.portOf(generation);
      return port !== null && (await answersHealth(port, limitMillis));
    },
    dispatch,
  });
}
