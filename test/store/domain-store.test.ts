import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ClientMessage, Delta } from '../../src/client/types.js';
import { GIB } from '../../src/scheduler/units.js';
import { createDomainStore, isLifecycle, receive, type DomainStore } from '../../src/store/domain-store.js';
import { feedDomainStore } from '../../src/store/feed.js';
import { busySnapshot, readyModel, SAMPLE_TIME, sampleDecision } from '../support/snapshots.js';

describe('what the screen knows of the supervisor', () => {
  it('ignores changes of a snapshot that it has not seen', () => {
    const state = createDomainStore().getState();
    expect(receive(state, { type: 'delta', delta: { at: SAMPLE_TIME } }, SAMPLE_TIME)).toBe(state);
    expect(receive(state, { type: 'decision', decision: sampleDecision(1) }, SAMPLE_TIME)).toBe(state);
  });

  it('keeps the last snapshot when the connection is lost, and the reason', () => {
    let state = createDomainStore().getState();
    state = receive(state, { type: 'snapshot', snapshot: busySnapshot() }, SAMPLE_TIME);
    state = receive(state, { type: 'disconnected', reason: 'Gone.' }, SAMPLE_TIME);
    expect(state.connection).toEqual({ state: 'lost', reason: 'Gone.', since: SAMPLE_TIME });
    expect(state.snapshot?.models).toHaveLength(6);
    state = receive(state, { type: 'snapshot', snapshot: busySnapshot() }, SAMPLE_TIME);
    expect(state.connection).toEqual({ state: 'live' });
  });

  it('keeps what a snapshot repeats as the same object', () => {
    const first = receive(createDomainStore().getState(), { type: 'snapshot', snapshot: busySnapshot() }, SAMPLE_TIME);
    const second = receive(first, { type: 'snapshot', snapshot: busySnapshot() }, SAMPLE_TIME);
    expect(second.snapshot).toBe(first.snapshot);
  });

  it('takes a real difference of clocks for one, and the age of a message for none', () => {
    const start = createDomainStore().getState();
    const message: ClientMessage = { type: 'snapshot', snapshot: busySnapshot() };
    expect(receive(start, message, SAMPLE_TIME + 1_500).clockOffsetMillis).toBe(0);
    const ahead = receive(start, message, SAMPLE_TIME - 60_000);
    expect(ahead.clockOffsetMillis).toBe(60_000);
    // A delta that was long on its way does not make the other clock slow.
    const later = receive(ahead, { type: 'delta', delta: { at: SAMPLE_TIME } }, SAMPLE_TIME);
    expect(later.clockOffsetMillis).toBe(60_000);
  });

  it('tells what somebody waits for from figures that may wait', () => {
    const snapshot = busySnapshot();
    const at = SAMPLE_TIME;
    const phi = snapshot.models[2];
    if (phi === undefined) throw new Error('the sample has changed');
    expect(isLifecycle(snapshot, { at, devices: [] })).toBe(false);
    expect(isLifecycle(snapshot, { at, models: [{ ...phi, requests: 9, resident: { CUDA1: 1 } }] })).toBe(false);
    expect(isLifecycle(snapshot, { at, models: [{ ...phi, word: 'stopping' }] })).toBe(true);
    expect(isLifecycle(snapshot, { at, models: [{ ...phi, pinned: true }] })).toBe(true);
    expect(isLifecycle(snapshot, { at, queue: [] })).toBe(true);
    expect(isLifecycle(snapshot, { at, shuttingDown: true })).toBe(true);
  });
});

describe('the feed of the store', () => {
  let store: DomainStore;
  let send: (message: ClientMessage) => void;
  let end: () => void;
  let changes: number;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
    store = createDomainStore();
    changes = 0;
    store.subscribe(() => (changes += 1));
    end = feedDomainStore(store, { subscribe: (listener) => ((send = listener), () => undefined) }, () => 500);
    send({ type: 'snapshot', snapshot: busySnapshot() });
    changes = 0;
  });

  afterEach(() => {
    end();
    vi.useRealTimers();
  });

  const figures = (requests: number): ClientMessage => {
    const delta: Delta = { at: SAMPLE_TIME, models: [readyModel('phi-4', 8 * GIB, { requests })] };
    return { type: 'delta', delta };
  };
  const requestsShown = (): number | undefined => store.getState().snapshot?.models[2]?.requests;

  it('publishes figures twice a second at most, and then the latest', () => {
    for (let requests = 1; requests <= 50; requests += 1) send(figures(requests));
    expect(changes).toBe(0);
    vi.advanceTimersByTime(499);
    expect(changes).toBe(0);
    vi.advanceTimersByTime(1);
    expect(changes).toBe(1);
    expect(requestsShown()).toBe(50);
  });

  it('publishes figures at once when nothing was published for a while', () => {
    vi.advanceTimersByTime(600);
    send(figures(3));
    expect(requestsShown()).toBe(3);
  });

  it('publishes changes of state and decisions at once, with the figures that waited', () => {
    send(figures(7));
    send({ type: 'delta', delta: { at: SAMPLE_TIME, queue: [] } });
    expect(changes).toBe(1);
    expect(requestsShown()).toBe(7);
    send({ type: 'decision', decision: sampleDecision(50) });
    expect(store.getState().snapshot?.decisions.at(-1)?.number).toBe(50);
    vi.advanceTimersByTime(2_000);
    expect(changes).toBe(2);
  });
});
