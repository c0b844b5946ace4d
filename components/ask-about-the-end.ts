import { unexpectedEnd, type DomainStore } from '../src/store/domain-store.js';
import type { ScreenStore } from '../src/store/screen-store.js';

/** Once the supervisor of this screen has ended by itself, asks what now; only once each time. Returns what ends that. */
export function askAboutTheEnd(domain: DomainStore, screen: ScreenStore): () => void {
  let asked: unknown = null;
  return domain.subscribe((state) => {
    const end = unexpectedEnd(state);
    if (end === null || end === asked || screen.getState().stopping) return;
    asked = end;
    // Whatever is being asked, typed or said is about the supervisor that is no more.
    screen.setState({ dialog: { kind: 'ended' }, input: null, message: null });
  });
}
