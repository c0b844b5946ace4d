import type { Snapshot, SupervisorClient } from '../client/types.js';
import type { Millis } from '../scheduler/units.js';
import { CommandFailed } from './usage-error.js';

/** A supervisor that accepts connections and says nothing. */
export class NoAnswer extends CommandFailed {}

/** The supervisor's state now. Throws NoAnswer, or CommandFailed with one sentence when there is none. */
export function firstSnapshot(client: SupervisorClient, limitMillis: Millis): Promise<Snapshot> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stop();
      const seconds = Math.round(limitMillis / 1000);
      reject(
        new NoAnswer(`The supervisor has not answered for ${seconds} s; its process may be stopped or overloaded.`),
      );
    }, limitMillis);
    const stop = client.subscribe((message) => {
      clearTimeout(timer);
      stop();
      if (message.type === 'snapshot') resolve(message.snapshot);
      else
        reject(
          new CommandFailed(message.type === 'disconnected' ? message.reason : 'The supervisor said nothing useful.'),
        );
    });
  });
}
