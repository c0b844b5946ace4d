import { closeSync, openSync } from 'node:fs';
import type { Command } from 'commander';
import { visibleText } from '../../components/text/clean.js';
import { whatChanged } from '../../components/text/reload-report.js';
import type { ReloadReport } from '../client/types.js';
import { pathsFor } from '../supervisor/paths.js';
import { ourWords, refuseWords } from './child-flags.js';
import { onePress } from './one-press.js';
import { noticeLine, plainLine, timeOf } from './plain-lines.js';
import type { Serving } from './open-serving.js';
import { startServing } from './serve.js';
import { readServeFlags } from './serve-flags.js';
import { AlreadyRunning, CommandFailed, UsageError } from './usage-error.js';
import { namingVariables } from './variables.js';

/** What a supervisor in the background tells the program that started it, once. */
export type StartMessage =
  | { readonly type: 'ready'; readonly url: string }
  | {
      readonly type: 'failed';
      readonly message: string;
      readonly exitCode: number;
      readonly alreadyRunning?: boolean;
    };

/**
 * `llm-tui serve`: the supervisor without a screen, one line for each decision, until it is told to stop.
 * @param remark for stderr, once it serves
 */
export async function serveCommand(command: Command, args: readonly string[], remark = ''): Promise<void> {
  const tellStarter = command.opts<{ owned?: boolean }>().owned === true ? sendOnce : (): void => undefined;
  try {
    const ours = ourWords(command);
    refuseWords(command.args, ours);
    const serving = await namingVariables(command, () => {
      const flags = readServeFlags(command, args);
      return startServing(flags, command.args, ours, pathsFor(flags.stateDir), say);
    });
    // Whoever is told that it serves may tell it to stop, at once.
    obeySignals(serving);
    tellStarter({ type: 'ready', url: serving.url });
    process.stderr.write(remark);
    printWhatHappens(serving);
    await serving.ended;
    process.exit(0);
  } catch (error) {
    if (error instanceof UsageError || error instanceof CommandFailed) {
      const exitCode = error instanceof UsageError ? 2 : 1;
      const alreadyRunning = error instanceof AlreadyRunning;
      tellStarter({ type: 'failed', message: error.message, exitCode, alreadyRunning });
    }
    throw error;
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Over the channel that a background start has opened, which is closed then. */
function sendOnce(message: StartMessage): void {
  if (process.send === undefined || !process.connected) return;
  process.send(message, () => {
    if (process.connected) process.disconnect();
  });
}

function printWhatHappens({ supervisor, url }: Serving): void {
  const { engine, notices } = supervisor.info;
  // Whoever reads our output may go before we do; it ends those commands only that have nothing else to do.
  process.stdout.removeAllListeners('error');
  process.stdout.on('error', () => undefined);
  process.stdout.write(`llm-tui listens at ${url}; engine: ${engine.name} (${engine.reason})\n`);
  const tell = (notice: string): void => void process.stdout.write(`${noticeLine(Date.now(), notice)}\n`);
  notices.forEach(tell);
  supervisor.onNotice(tell);
  supervisor.onReload((report) => process.stdout.write(`${timeOf(Date.now())} ${sayReload(report)}\n`));
  supervisor.onTurn(({ decisions }) => {
    for (const decision of decisions) process.stdout.write(`${plainLine(decision)}\n`);
  });
}

/** A terminal that goes sends SIGHUP too: then this ends like any program; sent by hand it means "read again". */
function obeySignals(serving: Serving): void {
  let stopping = false;
  const stopFor = onePress(() => {
    stopping = true;
    serving.stop();
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stopFor);
  const hadTerminal = hasTerminal();
  process.on('SIGHUP', () => {
    if (!hadTerminal || hasTerminal()) {
      serving.supervisor.reloadCatalog().catch((error: unknown) => {
        serving.supervisor.notice(error instanceof Error ? error.message : String(error));
      });
    } else if (!stopping) {
      stopFor();
    }
  });
}

/** Whether a terminal controls this process (POSIX). */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

function sayReload({ errors, ...change }: ReloadReport): string {
  return visibleText(`models read again: ${whatChanged(change)}${errors.map((error) => `; ${error}`).join('')}`);
}
