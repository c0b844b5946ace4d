/** Why a program could not be started, as one sentence: what, where, what to do. */
export function spawnFailure(
  file: string,
  failure: { readonly code?: string | undefined; readonly originalMessage?: string | undefined },
): string {
  switch (failure.code) {
    case 'ENOENT':
      return `Could not start ${file}: there is no such program. Check the path.`;
    case 'EACCES':
      return `Could not start ${file}: it is not executable for this user. Check its permissions.`;
    case 'ENOEXEC':
      return `Could not start ${file}: it is not a program for this machine.`;
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
      return `Could not start ${file}: too many processes or open files (${failure.code}). Raise the limit (ulimit -u, ulimit -n).`;
    case 'E2BIG':
      return `Could not start ${file}: its arguments and environment are too long.`;
    default:
      return `Could not start ${file}: ${failure.originalMessage ?? failure.code ?? 'unknown error'}.`;
  }
}
