import { CommanderError } from 'commander';
import { visibleText } from '../../components/text/clean.js';
import { CommandFailed, FailureShown, Interrupted, UsageError, type FailureCode } from './usage-error.js';

/** How a command has failed. */
export interface Failure {
  /** For programs, as closely as is known. */
  readonly code: FailureCode | 'usage' | 'interrupted' | 'unexpected';
  /** For stderr, without the program's name. */
  readonly message: string;
  readonly exitCode: 1 | 2;
  /** What has ended it. */
  readonly signal: NodeJS.Signals | null;
  /** It is in what was printed. */
  readonly shown: boolean;
}

/** What a command threw, as it is told; null: it was no failure, and has been printed. */
export function failureOf(error: unknown): Failure | null {
  const failure = { signal: null, shown: false };
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return null;
    const [what = '', ...hints] = error.message.replace(/^error: /u, '').split('\n');
    const hint = /Did you mean (?:one of )?(.+)\?/u.exec(hints.join(' '))?.[1];
    const rest = hint === undefined ? 'see llm-tui --help' : `did you mean ${hint}?`;
    return {
      ...failure,
      code: 'usage',
      exitCode: 2,
      message: `${cleanLines(what).replace(/\.$/u, '')}; ${rest}`,
    };
  }
  if (error instanceof UsageError) {
    return { ...failure, code: 'usage', exitCode: 2, message: cleanLines(error.message) };
  }
  if (error instanceof Interrupted) {
    const { signal, message } = error;
    return { ...failure, code: 'interrupted', exitCode: 1, message: cleanLines(message), signal };
  }
  if (error instanceof CommandFailed) {
    const shown = error instanceof FailureShown;
    return { ...failure, code: error.code, exitCode: 1, message: cleanLines(error.message), shown };
  }
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    ...failure,
    code: 'unexpected',
    exitCode: 1,
    message: `an unexpected error, please report it: ${what}`,
  };
}

/** The document that a program which asked for JSON reads instead of the one that it wanted. */
export function failureJson({ code, message }: Failure): string {
  return JSON.stringify({ schema: 1, error: { code, message } }, null, 2);
}

/** Names that were given, and words of others, may hold control sequences. */
function cleanLines(message: string): string {
  return message.split('\n').map(visibleText).join('\n');
}
