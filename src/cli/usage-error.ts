/** Something the user has to put right before the program can start. The message is one sentence; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Something that went wrong all the same. The message is one sentence; exit code 1. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

/** Another supervisor owns the state directory. */
export class AlreadyRunning extends CommandFailed {}
