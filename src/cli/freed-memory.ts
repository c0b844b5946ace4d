import { returnFreedMemory } from '../../native/malloc-trim.js';
import type { Millis } from '../scheduler/units.js';
import type { Supervisor } from '../supervisor/supervisor.js';

/** Long enough after an ending that what it has freed is freed, and that a busy swap is followed by one round only. */
const REST_MILLIS: Millis = 5000;

/**
 * Keeps this process as small as what it holds: a while after work that leaves memory behind (an instance that ended, a
 * catalog that was read), that goes back to the system. Returns the function that ends it.
 */
export function returnWhatIsFreed(supervisor: Pick<Supervisor, 'onTurn'>): () => void {
  let timer: NodeJS.Timeout | null = null;
  const leave = supervisor.onTurn(({ event }) => {
    if (timer !== null || (event.type !== 'exited' && event.type !== 'catalog')) return;
    timer = setTimeout(() => {
      timer = null;
      returnFreedMemory();
    }, REST_MILLIS);
    timer.unref();
  });
  return () => {
    leave();
    if (timer !== null) clearTimeout(timer);
  };
}
