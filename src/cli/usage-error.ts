/** Something the user has to put right before the program can start. The message is one sentence; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What has gone wrong, for programs; `failed`: something that has no word of its own. */
export type FailureCode = 'failed' | 'model_not_found' | 'no_supervisor' | 'refused';

/** Something that went wrong all the same. The message is one sentence; exit code 1. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly code: FailureCode;

  constructor(message: string, { code = 'failed', ...options }: ErrorOptions & { readonly code?: FailureCode } = {}) {
    super(message, options);
    this.code = code;
  }
}

/** The user has ended a wait by this signal, which ends the process as well. The message says what becomes of the rest. */
export class Interrupted extends CommandFailed {
  readonly signal: 'SIGINT' | 'SIGTERM';

  constructor(message: string, signal: 'SIGINT' | 'SIGTERM') {
    super(message);
    this.signal = signal;
  }
}

/** What the command has printed says it already, as JSON too where that was asked for. */
export class FailureShown extends CommandFailed {}

/** Another supervisor owns the state directory. */
export class AlreadyRunning extends CommandFailed {}
