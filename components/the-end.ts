import type { ScreenOutcome } from './leave.js';

/** Everything that can end a screen comes together here. */
export interface TheEnd {
  /** Settles once; later calls of `finish` and `fail` change nothing. */
  readonly outcome: Promise<ScreenOutcome>;
  readonly finish: (outcome: ScreenOutcome) => void;
  readonly fail: (error: unknown) => void;
  /** Gives the signals back. */
  close(): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Watches for signals, for a terminal that goes away and for errors that nobody has caught, so that the screen is
 * left in order whatever happens.
 */
export function watchForTheEnd(
  stdin: NodeJS.ReadStream,
  stdout: NodeJS.WriteStream,
  abort: AbortSignal | undefined,
): TheEnd {
  const { promise: outcome, resolve: finish, reject } = Promise.withResolvers<ScreenOutcome>();
  const fail = (error: unknown): void => reject(error instanceof Error ? error : new Error(String(error)));
  const signalled = (): void => finish({ reason: 'signal', message: null });
  for (const signal of SIGNALS) process.on(signal, signalled);
  stdin.on('end', signalled);
  stdin.on('error', signalled);
  // It stays for good: what is written to a terminal that has gone fails some time after the fact.
  stdout.on('error', signalled);
  process.on('uncaughtException', fail);
  if (abort?.aborted === true) signalled();
  abort?.addEventListener('abort', signalled);
  return {
    outcome,
    finish,
    fail,
    close() {
      for (const signal of SIGNALS) process.off(signal, signalled);
      stdin.off('end', signalled);
      stdin.off('error', signalled);
      process.off('uncaughtException', fail);
      abort?.removeEventListener('abort', signalled);
    },
  };
}
