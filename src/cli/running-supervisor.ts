import { connectSupervisor } from '../client/supervisor-client.js';
import type { Snapshot } from '../client/types.js';
import type { Millis } from '../scheduler/units.js';
import type { Paths } from '../supervisor/paths.js';
import { firstSnapshot, NoAnswer } from './first-snapshot.js';

/** A supervisor that is there has this long to answer. */
const ANSWER_MILLIS: Millis = 5000;

/** The state of the supervisor that listens on the socket; null where there is none. Throws when one does not answer. */
export async function runningSupervisor(paths: Paths): Promise<Snapshot | null> {
  const client = connectSupervisor({ socketPath: paths.socket });
  try {
    return await firstSnapshot(client, ANSWER_MILLIS);
  } catch (error) {
    if (error instanceof NoAnswer) throw error;
    return null;
  } finally {
    client.close();
  }
}
