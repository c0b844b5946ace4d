import { Command, CommanderError, Option } from 'commander';
import type { OperatorAction } from '../client/types.js';
import { POLICIES } from '../scheduler/policies.js';
import type { PolicyName } from '../scheduler/state.js';
import { pathsFor } from '../supervisor/paths.js';
import { addClientFlags, readClientFlags } from './client-flags.js';
import { actCommand, logsCommand, planCommand, stopCommand } from './model-commands.js';
import { psCommand } from './ps.js';
import { replayCommand } from './replay.js';
import { attachCommand, screenCommand } from './screen-command.js';
import { serveCommand } from './serve-command.js';
import { simulateCommand, type SimulateOptions } from './simulate.js';
import { addScreenFlags, readScreenFlags } from './screen-flags.js';
import { addServeFlags } from './serve-flags.js';
import { CommandFailed, UsageError } from './usage-error.js';
import { VERSION } from './version.js';

const ACTIONS: readonly (readonly [OperatorAction, string])[] = [
  ['load', 'load a model'],
  ['unload', 'unload a model once its requests have ended'],
  ['pin', 'keep a model loaded, whatever else is asked for'],
  ['unpin', 'let a model be evicted again'],
  ['measure', 'find out again what a model needs, without loading it'],
];

/** Runs the program with its arguments (without node and script). Sets the exit code: 1 failed, 2 wrong usage. */
export async function main(args: readonly string[]): Promise<void> {
  endWithReader();
  const program = describeProgram(args);
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    process.exit(tell(error));
  }
}

function describeProgram(args: readonly string[]): Command {
  const program = new Command('llm-tui')
    .description('Router, scheduler and live screen for many local LLMs on a few GPUs.')
    .version(VERSION)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .usage('[flags] | llm-tui <command>')
    .addHelpText('after', '\nEvery other flag is an option for the models, e.g. --ctx-size 4096; see the engine.');

  passOn(addScreenFlags(addServeFlags(program))).action((_flags, command: Command) => screenCommand(command, args));
  passOn(addServeFlags(program.command('serve').description('the same without a screen'))).action(
    (_flags, command: Command) => serveCommand(command, args.slice(args.indexOf('serve') + 1)),
  );

  addScreenFlags(
    addClientFlags(program.command('attach [url]').description('a screen for a supervisor that runs already')),
  ).action((url: string | undefined, flags: Record<string, string | undefined>, command: Command) =>
    attachCommand({ ...readClientFlags(flags), ...(url === undefined ? {} : { url }) }, readScreenFlags(command)),
  );
  addClientFlags(program.command('ps [url]').description('devices, models and queue'))
    .option('--json', 'the whole state as JSON')
    .action((url: string | undefined, flags: Record<string, string | undefined>) =>
      psCommand(readClientFlags({ ...flags, ...(url === undefined ? {} : { url }) }), flags['json'] !== undefined),
    );
  addClientFlags(program.command('stop').description('stop every model and the supervisor')).action(
    (flags: Record<string, string | undefined>) => stopCommand(readClientFlags(flags)),
  );
  for (const [action, description] of ACTIONS) {
    addClientFlags(program.command(`${action} <model>`).description(description)).action(
      (model: string, flags: Record<string, string | undefined>) => actCommand(action, model, readClientFlags(flags)),
    );
  }
  addClientFlags(program.command('plan <model>').description('what loading a model now would do'))
    .option('--json', 'with the whole decision record, as JSON')
    .action((model: string, flags: Record<string, string | undefined>) =>
      planCommand(model, readClientFlags(flags), flags['json'] !== undefined),
    );
  addClientFlags(program.command('logs <model>').description("the last lines of a model's process")).action(
    (model: string, flags: Record<string, string | undefined>) => logsCommand(model, readClientFlags(flags)),
  );
  program
    .command('replay [file]')
    .description('what a recorded journal decides when it is played again; a directory stands for its newest')
    .addOption(new Option('--policy <name>', 'decide by another policy').choices(Object.keys(POLICIES)))
    .option('--state-dir <dir>', 'the state directory whose newest journal is meant')
    .option('--json', 'all decision records and the summary as JSON')
    .action((file: string | undefined, flags: Record<string, string | undefined>) =>
      replayCommand({
        path: file ?? pathsFor(flags['stateDir'] ?? null).journal,
        policy: (flags['policy'] ?? null) as PolicyName | null,
        json: flags['json'] !== undefined,
      }),
    );
  program
    .command('simulate <scenario>')
    .description('what the scheduler makes of a machine and its clients that are written down in a file')
    .option('--seed <n>', 'the (first) seed of everything that is left to chance; default 1')
    .option('--runs <n>', 'add up so many seeds, one after the other; default 1')
    .option('--policy <names>', 'one policy, or several with commas between them')
    .option('--compare', 'all policies side by side')
    .option('--decisions', 'every decision, before the table')
    .option('--json', 'the result as JSON')
    .action((path: string, options: SimulateOptions) => simulateCommand(path, options));
  for (const command of program.commands) if (command.name() !== 'serve') command.allowExcessArguments(false);
  return program;
}

/** Flags that are not ours are the models'; whether they are any is found out when the engine is known. */
function passOn(command: Command): Command {
  return command.allowUnknownOption().allowExcessArguments();
}

/** Whoever reads the output may have seen enough, as `head` has: that is no error. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' && !process.argv.includes('serve')) process.exit(0);
  });
}

/** One sentence on stderr; the exit code. */
function tell(error: unknown): number {
  if (error instanceof CommanderError) {
    // Help and version are no mistakes, and have been printed.
    if (error.exitCode === 0) return 0;
    process.stderr.write(`llm-tui: ${error.message.replace(/^error: /u, '')}; see llm-tui --help\n`);
    return 2;
  }
  if (error instanceof UsageError || error instanceof CommandFailed) {
    process.stderr.write(`llm-tui: ${error.message}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
  process.stderr.write(
    `llm-tui: an unexpected error, please report it: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  return 1;
}
