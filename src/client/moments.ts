import { JournalError, type JournalHeader } from '../journal/format.js';
import { readJournal } from '../journal/read.js';
import { replay } from '../journal/replay.js';
import { nextHistory, NO_HISTORY, type OutOfMemoryReport } from '../scheduler/memory-history.js';
import type { State } from '../scheduler/state.js';
import type { Millis } from '../scheduler/units.js';

/** The scheduler as it was once something had been decided. */
export interface Moment {
  readonly at: Millis;
  readonly state: State;
  /** How models had come to run out of memory by then. */
  readonly outOfMemory: readonly OutOfMemoryReport[];
}

/** A journal that was played through. */
export interface Moments {
  readonly header: JournalHeader;
  /** What the journal begins with, every turn that decided something, and how it ended. Never empty. */
  readonly moments: readonly Moment[];
  /** Earlier ones that were not kept. */
  readonly left: number;
  /** What whoever looks at it should know: a damaged line, or decisions that differ from the recorded ones. */
  readonly notices: readonly string[];
}

/** States share what did not change; so many of them take some ten MB with a large catalog. */
const MOMENTS_KEPT = 10_000;

/** Plays a journal through, so that every moment can be gone back to. Throws JournalError on one that cannot be begun. */
export function readMoments(path: string): Moments {
  const journal = readJournal(path);
  // The first state of a run has no time of its own.
  const at = journal.state.now || journal.header.startedAt;
  const moments: Moment[] = [{ at, state: journal.state, outOfMemory: [] }];
  let history = NO_HISTORY;
  let before = journal.state;
  let left = 0;
  const last: { moment: Moment | null } = { moment: null };
  const keep = (moment: Moment): void => {
    moments.push(moment);
    if (moments.length <= MOMENTS_KEPT) return;
    moments.shift();
    left += 1;
  };
  const notices: string[] = [];
  try {
    const { divergence } = replay(journal, {
      onTurn({ event, state, decisions }) {
        history = nextHistory(history, event, before, state, decisions);
        before = state;
        last.moment = { at: event.at, state, outOfMemory: history.reports };
        if (decisions.length > 0) keep(last.moment);
      },
    });
    if (divergence !== null) {
      notices.push(`From line ${divergence.line} on this is not what was recorded: ${divergence.what}.`);
    }
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    notices.push(error.message);
  }
  if (last.moment !== null && last.moment !== moments.at(-1)) keep(last.moment);
  return { header: journal.header, moments, left, notices };
}
