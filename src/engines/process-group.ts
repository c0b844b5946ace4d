/** Process groups of children that live now: nothing of them may outlive this process. */
const living = new Set<number>();

/** Sends a signal to one process; a process that has gone meanwhile is no error. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // ESRCH: gone already. EPERM: it has become somebody else's, and is none of our business any more.
  }
}

/** Kills the group led by `pid`, the leader included; without groups (Windows) the process alone. */
export function killGroup(pid: number): void {
  signalProcess(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
}

/** Has the group killed when this process ends in an orderly way or by an uncaught error. */
export function killAtExit(pid: number): void {
  if (living.size === 0) process.on('exit', killAll);
  living.add(pid);
}

export function forget(pid: number): void {
  living.delete(pid);
  if (living.size === 0) process.off('exit', killAll);
}

function killAll(): void {
  for (const pid of living) killGroup(pid);
}
