import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { EXIT_MESSAGE, SLEEP_MESSAGE } from '../messages.js';

/**
 * Obeys whoever started this process: `onStop` whenever it asks for an orderly exit, on stdin or by SIGTERM or SIGINT.
 * When stdin ends, the supervisor has gone, perhaps by SIGKILL; then this process must not outlive it.
 * `onSleep`: the model shall leave memory, if it has nothing to do.
 */
export function obeySupervisor(onStop: () => void, watchStdin: boolean, onSleep: () => void = () => undefined): void {
  // Not once: packages that clean up after themselves raise a signal again when nobody else listens to it any more.
  process.on('SIGTERM', onStop);
  process.on('SIGINT', onStop);
  if (!watchStdin) return;
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    if (line.trim() === EXIT_MESSAGE.trim()) onStop();
    if (line.trim() === SLEEP_MESSAGE.trim()) onSleep();
  });
  process.stdin.on('error', leaveAtOnce);
  process.stdin.on('end', leaveAtOnce);
}

/**
 * An ordinary exit waits for the threads that load or compute, which may take long; nobody is left to read an
 * exit code.
 */
function leaveAtOnce(): never {
  try {
    writeSync(process.stderr.fd, 'stdin was closed: the supervisor has gone, so does this child\n');
  } catch {
    // The pipe that would have carried it has gone as well.
  }
  process.kill(process.pid, 'SIGKILL');
  process.exit(1);
}
