import { failureJson, failureOf, type Failure } from './failure.js';
import { commandFirst } from './order-args.js';
import { describeProgram } from './program.js';

/** Runs the program with its arguments (without node and script). Sets the exit code: 1 failed, 2 wrong usage. */
export async function main(args: readonly string[]): Promise<void> {
  endWithReader();
  try {
    const ordered = commandFirst(describeProgram(), args);
    await describeProgram(ordered).parseAsync([...ordered], { from: 'user' });
  } catch (error) {
    const failure = failureOf(error);
    if (failure === null) process.exit(0);
    end(failure, args.includes('--json'));
  }
}

/** Whoever reads the output may have seen enough, as `head` has: that is no error. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' && !process.argv.includes('serve')) process.exit(0);
  });
}

/** One sentence on stderr, and JSON for whoever asked for that; then the exit code, or the signal once more. */
function end(failure: Failure, wantsJson: boolean): never {
  const { message, exitCode, signal, shown } = failure;
  if (wantsJson && !shown) process.stdout.write(`${failureJson(failure)}\n`);
  process.stderr.write(`llm-tui: ${message}\n`);
  // A shell that runs a script stops at a command that a signal has ended, not at one that has failed.
  if (signal !== null) process.kill(process.pid, signal);
  process.exit(exitCode);
}
