import { CommanderError } from 'commander';
import { visibleText } from '../../components/text/clean.js';
import { commandFirst } from './order-args.js';
import { describeProgram } from './program.js';
import { CommandFailed, UsageError } from './usage-error.js';

/** Runs the program with its arguments (without node and script). Sets the exit code: 1 failed, 2 wrong usage. */
export async function main(args: readonly string[]): Promise<void> {
  endWithReader();
  try {
    const ordered = commandFirst(describeProgram(), args);
    await describeProgram(ordered).parseAsync([...ordered], { from: 'user' });
  } catch (error) {
    process.exit(tell(error));
  }
}

/** Whoever reads the output may have seen enough, as `head` has: that is no error. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' && !process.argv.includes('serve')) process.exit(0);
  });
}

/** Names that were given, and words of others, may hold control sequences. */
function cleanLines(message: string): string {
  return message.split('\n').map(visibleText).join('\n');
}

/** One sentence on stderr; the exit code. */
function tell(error: unknown): number {
  if (error instanceof CommanderError) {
    // Help and version are no mistakes, and have been printed.
    if (error.exitCode === 0) return 0;
    process.stderr.write(`llm-tui: ${error.message.replace(/^error: |\.$/gu, '')}; see llm-tui --help\n`);
    return 2;
  }
  if (error instanceof UsageError || error instanceof CommandFailed) {
    process.stderr.write(`llm-tui: ${cleanLines(error.message)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
  process.stderr.write(
    `llm-tui: an unexpected error, please report it: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  return 1;
}
