import { createStore, type StoreApi } from 'zustand/vanilla';
import { applyDecision, applyDelta, keepEqual } from '../client/apply-delta.js';
import { identityOf, isSameSupervisor, type SupervisorIdentity } from '../client/supervisor-identity.js';
import type { ClientMessage, Delta, Millis, RecordedPosition, Snapshot, SupervisorEnd } from '../client/types.js';

/** How the screen stands with its supervisor. */
export type Connection =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** `since` by our own clock, from the first failure on. */
  | { readonly state: 'lost'; readonly reason: string; readonly since: Millis };

/** What is known of the supervisor. The snapshot stays when the connection is lost: old news beats none. */
export interface DomainState {
  readonly snapshot: Snapshot | null;
  readonly connection: Connection;
  /** How the supervisor that this screen has started ended; null: it runs, or somebody else started it. */
  readonly ended: SupervisorEnd | null;
  /** The supervisor's clock minus ours; 0 while they agree within what a message takes. */
  readonly clockOffsetMillis: Millis;
  /** When the latest message came, by our own clock; null: none yet. */
  readonly heardAt: Millis | null;
  /** The supervisor that this screen started with, whoever answers now; null: none yet. */
  readonly first: SupervisorIdentity | null;
  /** Where in a recording one is; null: this happens now. */
  readonly position: RecordedPosition | null;
}

export type DomainStore = StoreApi<DomainState>;

/** Differences of clocks up to this are taken for the age of a message. */
const CLOCK_TOLERANCE_MILLIS = 2_000;

export function createDomainStore(): DomainStore {
  return createStore<DomainState>()(() => ({
    snapshot: null,
    connection: { state: 'connecting' },
    ended: null,
    clockOffsetMillis: 0,
    heardAt: null,
    first: null,
    position: null,
  }));
}

/** The state after a message. `receivedAt` is our own clock. */
export function receive(state: DomainState, message: ClientMessage, receivedAt: Millis): DomainState {
  switch (message.type) {
    case 'snapshot':
      return {
        ...state,
        snapshot: keepEqual(state.snapshot, message.snapshot),
        connection: live(state),
        clockOffsetMillis: offset(message.snapshot.at, receivedAt),
        heardAt: receivedAt,
        first: state.first ?? identityOf(message.snapshot.supervisor),
      };
    case 'delta':
      if (state.snapshot === null) return state;
      return {
        ...state,
        heardAt: receivedAt,
        snapshot: applyDelta(state.snapshot, message.delta),
        connection: live(state),
        // A message may be older than its delivery, never younger: the largest difference is the truest.
        clockOffsetMillis: Math.max(state.clockOffsetMillis, offset(message.delta.at, receivedAt)),
      };
    case 'decision':
      if (state.snapshot === null) return state;
      return { ...state, heardAt: receivedAt, snapshot: applyDecision(state.snapshot, message.decision) };
    case 'position':
      return { ...state, position: message.position };
    case 'disconnected':
      return { ...state, connection: lost(state, message.reason, receivedAt) };
    case 'ended':
      return { ...state, ended: message.end };
  }
}

/**
 * True for a change that somebody waits for: a model's state, the queue, what the operator set. Figures alone
 * (memory, progress, requests in flight) may wait for the next beat.
 */
export function isLifecycle(snapshot: Snapshot, delta: Delta): boolean {
  if (delta.queue !== undefined || delta.measureQueue !== undefined || delta.modelOrder !== undefined) return true;
  if (delta.supervisor !== undefined || delta.shuttingDown !== undefined || delta.outOfMemory !== undefined)
    return true;
  return (delta.models ?? []).some((model) => {
    const before = snapshot.models.find((known) => known.id === model.id);
    return (
      before?.word !== model.word ||
      before.generation !== model.generation ||
      before.pinned !== model.pinned ||
      before.blocked !== model.blocked ||
      before.draining !== model.draining ||
      before.hungSince !== model.hungSince
    );
  });
}

/** True once another supervisor answers than the one that this screen started with. */
export function isAnotherSupervisor({ first, snapshot }: Pick<DomainState, 'first' | 'snapshot'>): boolean {
  return first !== null && snapshot !== null && !isSameSupervisor(first, snapshot.supervisor);
}

function live(state: DomainState): Connection {
  return state.connection.state === 'live' ? state.connection : { state: 'live' };
}

function lost({ connection }: DomainState, reason: string, at: Millis): Connection {
  return { state: 'lost', reason, since: connection.state === 'lost' ? connection.since : at };
}

/** The end of the supervisor that was looked at, unless it was told to end, or another one answers by now. */
export function unexpectedEnd({ ended, connection, snapshot }: DomainState): SupervisorEnd | null {
  return connection.state === 'live' || snapshot?.shuttingDown === true ? null : ended;
}

function offset(theirs: Millis, ours: Millis): Millis {
  const difference = theirs - ours;
  return Math.abs(difference) <= CLOCK_TOLERANCE_MILLIS ? 0 : difference;
}
