import { Argument, Command, Option } from 'commander';
import type { OperatorAction } from '../client/types.js';
import { POLICIES } from '../scheduler/policies.js';
import type { PolicyName } from '../scheduler/state.js';
import { pathsFor } from '../supervisor/paths.js';
import { addClientFlags, readClientFlags } from './client-flags.js';
import { actCommand, logsCommand, planCommand, reloadCommand, stopCommand } from './model-commands.js';
import type { MeasureFlags } from './measure.js';
import { completionScript, SHELLS, type Shell } from './completion.js';
import { psCommand } from './ps.js';
import { attachCommand, screenCommand } from './screen-command.js';
import type { SimulateOptions } from './simulate.js';
import { addScreenFlags, readScreenFlags } from './screen-flags.js';
import { addServeFlags } from './describe-serve-flags.js';
import { namingVariables } from './variables.js';
import { VERSION } from './version.js';

const ACTIONS: readonly (readonly [Exclude<OperatorAction, 'withdraw'>, string])[] = [
  ['load', 'load a model, and wait until it is up; Ctrl-C takes the load back, unless others want it too'],
  ['unload', 'unload a model once its requests have ended'],
  ['pin', 'keep a model loaded, whatever else is asked for'],
  ['unpin', 'let a model be evicted again'],
  ['park', 'put an idle model to sleep, out of memory, where the engine can'],
  ['wake', 'bring a sleeping model back, and wait until it is up; Ctrl-C as with load'],
  ['cancel', 'cancel the requests for a model, waiting and being answered'],
];

const EPILOGUE = `
Every other flag is an option for the models, e.g. --ctx-size 4096; the engine knows which there are.

Examples:
  llm-tui --models-dir ~/models                 a screen, and a router at http://127.0.0.1:8080
  llm-tui serve --models-preset models.ini --watch
  llm-tui --engine sim --sim-devices CUDA0=24GiB --models-preset models.ini    nothing is loaded for real
  llm-tui ps ; llm-tui plan MODEL ; llm-tui load MODEL`;

/**
 * The whole command line, described once: it is what runs, and what help, completion and the manual page are made of.
 * What only one command needs is loaded when that runs: serving does without the others, and they without all
 * that serves.
 * @param args without node and script; they only matter to what runs
 */
export function describeProgram(args: readonly string[] = []): Command {
  const program = new Command('llm-tui')
    .description('Router, scheduler and live screen for many local LLMs on a few GPUs.')
    .version(VERSION)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .usage('[flags] | llm-tui <command>')
    .addHelpText('after', EPILOGUE);

  passOn(addScreenFlags(addServeFlags(program))).action((_flags, command: Command) => screenCommand(command, args));
  passOn(addServeFlags(program.command('serve').description('router and scheduler without a screen'))).action(
    async (_flags, command: Command) => {
      const { serveCommand } = await import('./serve-command.js');
      await serveCommand(command, args.slice(args.indexOf('serve') + 1));
    },
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
  addClientFlags(program.command('stop').description('stop every model and the supervisor'))
    .option('--json', 'what came of it, as JSON')
    .action((flags: Record<string, string | undefined>) =>
      stopCommand(readClientFlags(flags), flags['json'] !== undefined),
    );
  for (const [action, description] of ACTIONS) {
    addClientFlags(program.command(`${action} <model>`).description(description))
      .option('--json', 'what came of it, as JSON')
      .action((model: string, flags: Record<string, string | undefined>) =>
        actCommand(action, model, readClientFlags(flags), flags['json'] !== undefined),
      );
  }
  addClientFlags(program.command('reload').description('read all sources of models again'))
    .option('--json', 'what has changed, as JSON')
    .action((flags: Record<string, string | undefined>) =>
      reloadCommand(readClientFlags(flags), flags['json'] !== undefined),
    );
  addClientFlags(program.command('plan <model>').description('what loading a model now would do'))
    .option('--json', 'with the whole decision record, as JSON')
    .action((model: string, flags: Record<string, string | undefined>) =>
      planCommand(model, readClientFlags(flags), flags['json'] !== undefined),
    );
  addClientFlags(program.command('logs <model>').description("the last lines of a model's process"))
    .option('--json', 'as JSON, a text for each line')
    .action((model: string, flags: Record<string, string | undefined>) =>
      logsCommand(model, readClientFlags(flags), flags['json'] !== undefined),
    );
  passOn(
    addClientFlags(
      program
        .command('measure <models...>')
        .description('what models need, device by device, without loading them: GGUF files, or models of a supervisor'),
    ),
  )
    .option('--json', 'as JSON')
    .addOption(
      new Option('--engine <name>', 'what files are measured with')
        .choices(['auto', 'llama-server', 'embedded', 'sim'])
        .default('auto'),
    )
    .addOption(new Option('--llama-server <path>', 'the llama-server to measure files with').env('LLAMA_SERVER'))
    .action(async (words: readonly string[], flags: Record<string, string | undefined>, command: Command) => {
      const { measureCommand } = await import('./measure.js');
      const asked = {
        ...readClientFlags(flags),
        engine: (flags['engine'] ?? 'auto') as MeasureFlags['engine'],
        llamaServer: flags['llamaServer'] ?? null,
        json: flags['json'] !== undefined,
      };
      await namingVariables(command, () => measureCommand(words, asked));
    });
  addScreenFlags(
    program
      .command('replay [file]')
      .description('what a recorded journal decides when it is played again; a directory stands for its newest')
      .option('--screen', 'look at it as it was: [ and ] step through its decisions, space plays'),
  )
    .addOption(new Option('--policy <name>', 'decide by another policy').choices(Object.keys(POLICIES)))
    .option('--state-dir <dir>', 'the state directory whose newest journal is meant')
    .option('--json', 'all decision records and the summary as JSON')
    .action(async (file: string | undefined, flags: Record<string, string | undefined>, command: Command) => {
      const { replayCommand, replayScreen } = await import('./replay.js');
      const path = file ?? pathsFor(flags['stateDir'] ?? null).journal;
      if (flags['screen'] !== undefined) return replayScreen(path, readScreenFlags(command));
      replayCommand({
        path,
        policy: (flags['policy'] ?? null) as PolicyName | null,
        json: flags['json'] !== undefined,
      });
    });
  program
    .command('simulate <scenario>')
    .description('what the scheduler makes of a machine and its clients that are written down in a file')
    .option('--seed <n>', 'the (first) seed of everything that is left to chance; default 1')
    .option('--runs <n>', 'add up so many seeds, one after the other; default 1')
    .option('--policy <names>', 'one policy, or several with commas between them')
    .option('--compare', 'all policies side by side')
    .option('--decisions', 'every decision, before the table')
    .option('--json', 'the result as JSON')
    .action(async (path: string, options: SimulateOptions) => {
      const { simulateCommand } = await import('./simulate.js');
      await simulateCommand(path, options);
    });
  program
    .command('doctor')
    .description('what there is to serve models with, what is missing or cannot be known, and what to do about it')
    .option('--json', 'as JSON')
    .option('--host <address>', 'the address that would be listened on', '127.0.0.1')
    .option('--port <port>', 'the port that would be listened on', '8080')
    .option('--state-dir <dir>', 'the state directory that would be used')
    .addOption(new Option('--llama-server <path>', 'the llama-server to look at').env('LLAMA_SERVER'))
    .action(async (flags: Record<string, string | undefined>) => {
      const { doctorCommand } = await import('./doctor.js');
      await doctorCommand({
        host: flags['host'] ?? '',
        port: flags['port'] ?? '',
        stateDir: flags['stateDir'] ?? null,
        llamaServer: flags['llamaServer'] ?? null,
        json: flags['json'] !== undefined,
      });
    });
  program
    .command('completion')
    .description('a script that completes commands and flags in a shell; see the manual for where to put it')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .action((shell: Shell) => void process.stdout.write(completionScript(program, shell)));
  group(program, 'Supervisor:', ['serve', 'attach', 'ps', 'stop']);
  group(program, 'Models:', [
    ...['load', 'unload', 'pin', 'unpin', 'park', 'wake', 'cancel'],
    ...['plan', 'logs', 'measure', 'reload'],
  ]);
  group(program, 'Looking back and ahead:', ['replay', 'simulate']);
  group(program, 'This program:', ['doctor', 'completion']);
  for (const command of program.commands)
    if (!['serve', 'measure'].includes(command.name())) command.allowExcessArguments(false);
  return program;
}

function group(program: Command, heading: string, names: readonly string[]): void {
  for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(heading);
}

/** Flags that are not ours are the models'; whether they are any is found out when the engine is known. */
function passOn(command: Command): Command {
  return command.allowUnknownOption().allowExcessArguments();
}
