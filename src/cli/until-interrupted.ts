import { onePress } from './one-press.js';
import { Interrupted } from './usage-error.js';

/**
 * Waits, unless Ctrl-C or SIGTERM ends that: then rejects with Interrupted, and what `giveUp` says of what was asked for. A
 * second press does not wait for that either.
 */
export function untilInterrupted<T>(waiting: Promise<T>, giveUp: () => Promise<string>): Promise<T> {
  return new Promise((resolve, reject) => {
    let endedBy: 'SIGINT' | 'SIGTERM' | null = null;
    const interrupt = (signal: 'SIGINT' | 'SIGTERM'): void => {
      if (endedBy !== null) {
        reject(new Interrupted('interrupted', signal));
        return;
      }
      endedBy = signal;
      giveUp().then(
        (sentence) => settle(() => reject(new Interrupted(`interrupted: ${sentence}`, signal))),
        (error: unknown) => settle(() => reject(asError(error))),
      );
    };
    const pressed = { SIGINT: onePress(() => interrupt('SIGINT')), SIGTERM: onePress(() => interrupt('SIGTERM')) };
    const settle = (how: () => void): void => {
      process.off('SIGINT', pressed.SIGINT).off('SIGTERM', pressed.SIGTERM);
      how();
    };
    process.on('SIGINT', pressed.SIGINT).on('SIGTERM', pressed.SIGTERM);
    // What giving up makes of the wait is no news.
    waiting.then(
      (value) => endedBy ?? settle(() => resolve(value)),
      (error: unknown) => endedBy ?? settle(() => reject(asError(error))),
    );
  });
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
