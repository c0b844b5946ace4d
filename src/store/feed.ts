import type { ClientMessage, Millis, SupervisorClient } from '../client/types.js';
import { FIGURES_INTERVAL_MILLIS } from './rates.js';
import { isLifecycle, receive, type DomainState, type DomainStore } from './domain-store.js';

/**
 * Feeds the store from a client until the returned function is called. Changes that matter are published at
 * once; figures at most once per interval, because every publication costs a drawn frame. The interval may change.
 */
export function feedDomainStore(
  store: DomainStore,
  client: Pick<SupervisorClient, 'subscribe'>,
  interval: () => Millis = () => FIGURES_INTERVAL_MILLIS,
): () => void {
  let latest: DomainState = store.getState();
  let publishedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | null = null;

  function publish(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    publishedAt = performance.now();
    store.setState(latest, true);
  }

  function take(message: ClientMessage): void {
    const intervalMillis = interval();
    const urgent = message.type !== 'delta' || latest.snapshot === null || isLifecycle(latest.snapshot, message.delta);
    latest = receive(latest, message, Date.now());
    if (urgent || performance.now() - publishedAt >= intervalMillis) publish();
    else timer ??= setTimeout(publish, Math.max(0, publishedAt + intervalMillis - performance.now()));
  }

  const end = client.subscribe(take);
  return () => {
    end();
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
}
