import type { Decision } from '../scheduler/decisions.js';
import type { Event } from '../scheduler/events.js';
import type { Model, PolicyName, State } from '../scheduler/state.js';
import { step } from '../scheduler/step.js';
import { instanceOf } from '../scheduler/turn.js';
import { hashOfDecisions, hashOfState, JournalError, type JournalRecord } from './format.js';
import type { Journal } from './read.js';

/** One turn, played again. */
export interface ReplayedTurn {
  readonly line: number;
  readonly event: Event;
  readonly state: State;
  readonly decisions: readonly Decision[];
}

export interface ReplayOptions {
  /** Decide by this policy instead of the recorded one. */
  readonly policy?: PolicyName;
  readonly onTurn?: (turn: ReplayedTurn) => void;
}

/** Where a replay first came to something else than what was recorded. */
export interface Divergence {
  readonly line: number;
  /** The event that was decided differently; null: the state at the end of the file differs. */
  readonly event: Event | null;
  /** What is different, in a few words. */
  readonly what: string;
}

export interface ReplayResult {
  readonly events: number;
  /** How many of each kind. */
  readonly decisions: Readonly<Partial<Record<Decision['kind'], number>>>;
  /** The policy at the end, and the one that was recorded with the journal's state. */
  readonly policy: PolicyName;
  readonly recordedPolicy: PolicyName;
  /** True when another policy than the recorded one decided: nothing is verified from there on. */
  readonly counterfactual: boolean;
  /** Turns whose decisions are those that were recorded. */
  readonly verified: number;
  /** Whether the last state is the recorded one; null: the journal does not say, or another policy decided. */
  readonly sameEnd: boolean | null;
  readonly divergence: Divergence | null;
  /** Events about processes that these decisions would not have started; only counted in a counterfactual replay. */
  readonly strayEvents: number;
  /** Processes that are loading or stopping after the last event. */
  readonly unanswered: number;
  /** True when the journal breaks off in the middle of a line, as a killed supervisor leaves it. */
  readonly unfinished: boolean;
  /** The state after the last event. */
  readonly state: State;
}

/**
 * Feeds a recorded journal to the scheduler. With the recorded policy, the same decisions have to come out, and the
 * first that differs is reported. With another policy, the outcome is what would have been decided on the same inputs:
 * the inputs stay what really happened, so that what is told of processes that this policy never started is passed
 * over, and those that it alone started or stopped are never heard of. What it decides until its first difference is
 * what it would have decided; after it, less and less. Throws JournalError on a journal that cannot be replayed.
 */
export function replay(journal: Journal, options: ReplayOptions = {}): ReplayResult {
  const player = new Player(journal, options);
  for (const record of journal.records) player.play(record);
  return player.result();
}

class Player {
  readonly #journal: Journal;
  readonly #options: ReplayOptions;
  readonly #recordedPolicy: PolicyName;
  readonly #decisions: Partial<Record<Decision['kind'], number>> = {};
  /** The latest turn, while it is not known yet what was recorded of it. */
  #open: ReplayedTurn | null = null;
  #state: State;
  #counterfactual = false;
  #events = 0;
  #verified = 0;
  #strayEvents = 0;
  #unfinished = false;
  #sameEnd: boolean | null = null;
  #divergence: Divergence | null = null;

  constructor(journal: Journal, options: ReplayOptions) {
    this.#journal = journal;
    this.#options = options;
    this.#recordedPolicy = journal.state.settings.policy;
    this.#state = { ...journal.state, settings: this.#withPolicy(journal.state.settings) };
  }

  play(record: JournalRecord): void {
    switch (record.kind) {
      case 'event':
        this.#closeTurn(null);
        this.#turn(record.line, record.event);
        return;
      case 'decided':
        this.#closeTurn(record);
        return;
      case 'end':
        this.#closeTurn(null);
        this.#compareEnd(record);
        return;
      case 'unfinished':
        this.#unfinished = true;
        return;
    }
  }

  /** A turn that is still open was the last one: what it decided never came to be recorded. */
  result(): ReplayResult {
    return {
      events: this.#events,
      decisions: this.#decisions,
      policy: this.#state.settings.policy,
      recordedPolicy: this.#recordedPolicy,
      counterfactual: this.#counterfactual,
      verified: this.#verified,
      sameEnd: this.#sameEnd,
      divergence: this.#divergence,
      strayEvents: this.#strayEvents,
      unanswered: Object.values(this.#state.models).filter(isUnderWay).length,
      unfinished: this.#unfinished,
      state: this.#state,
    };
  }

  #turn(line: number, recorded: Event): void {
    const event =
      recorded.type === 'configured' ? { ...recorded, settings: this.#withPolicy(recorded.settings) } : recorded;
    if (this.#counterfactual && isStray(this.#state, event)) this.#strayEvents += 1;
    const { state, decisions } = this.#step(line, event);
    this.#state = state;
    this.#events += 1;
    for (const { kind } of decisions) this.#decisions[kind] = (this.#decisions[kind] ?? 0) + 1;
    this.#open = { line, event, state, decisions };
    this.#options.onTurn?.(this.#open);
  }

  #step(line: number, event: Event): ReturnType<typeof step> {
    try {
      return step(this.#state, event);
    } catch (cause) {
      const { path, header } = this.#journal;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new JournalError(
        `${path}:${line}: the event (${event.type}) cannot be replayed by this version (${why}); llm-tui ${header.version} recorded it.`,
        { cause },
      );
    }
  }

  #withPolicy(settings: State['settings']): State['settings'] {
    const { policy = settings.policy } = this.#options;
    if (policy !== settings.policy) this.#counterfactual = true;
    return { ...settings, policy };
  }

  #closeTurn(recorded: Extract<JournalRecord, { kind: 'decided' }> | null): void {
    const turn = this.#open;
    this.#open = null;
    if (this.#counterfactual || this.#divergence !== null) return;
    const diverges = (what: string, line: number): void => {
      this.#divergence = { line, event: turn?.event ?? null, what };
    };
    if (turn === null) {
      if (recorded !== null) diverges('decisions were recorded without an event', recorded.line);
    } else if (recorded === null) {
      if (turn.decisions.length > 0) diverges('decisions are made where none were recorded', turn.line);
    } else if (turn.decisions.length === 0) diverges('no decision is made where some were recorded', turn.line);
    else if (hashOfDecisions(turn.decisions) !== recorded.hash) diverges('the decisions are others', turn.line);
    else this.#verified += 1;
  }

  #compareEnd({ line, hash }: Extract<JournalRecord, { kind: 'end' }>): void {
    if (this.#counterfactual) return;
    this.#sameEnd = hashOfState(this.#state) === hash;
    if (!this.#sameEnd) this.#divergence ??= { line, event: null, what: 'the last state is another' };
  }
}

function isUnderWay({ instance }: Model): boolean {
  return instance?.phase === 'loading' || instance?.phase === 'stopping';
}

/** True for news of a process that, in this course of things, is not there. */
function isStray(state: State, event: Event): boolean {
  switch (event.type) {
    case 'spawned':
    case 'progress':
    case 'ready':
    case 'sleeping':
    case 'parked':
    case 'exited':
    case 'stalled':
    case 'hung':
      return instanceOf(state, event.model, event.generation) === null;
    case 'configured':
    case 'catalog':
    case 'sample':
    case 'request':
    case 'request-ended':
    case 'measured':
    case 'corrected':
    case 'reported':
    case 'margin':
    case 'operator':
    case 'timer':
    case 'shutdown':
      return false;
  }
}
