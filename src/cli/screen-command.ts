import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { connectSupervisor } from '../client/supervisor-client.js';
import type { ScreenOutcome } from '../../components/render.js';
import type { SupervisorClient, SupervisorEnd } from '../client/types.js';
import { pathsFor, type Paths } from '../supervisor/paths.js';
import { asksForNothing } from './args-for-serve.js';
import { BackgroundSupervisor } from './background.js';
import { ourWords, refuseWords } from './child-flags.js';
import { readServeFlags } from './serve-flags.js';
import { clientFor, type ClientFlags } from './client-flags.js';
import { runningSupervisor } from './running-supervisor.js';
import { readScreenFlags, type ScreenFlags } from './screen-flags.js';
import { AlreadyRunning, CommandFailed, UsageError } from './usage-error.js';
import { namingVariables } from './variables.js';

const WITHOUT_SCREEN =
  'llm-tui: this is no terminal for a screen, so it serves here, with one line for each decision, until Ctrl-C or ' +
  'SIGTERM; that is what llm-tui serve does.\n';

/** `llm-tui`: the supervisor in the background, unless one runs already, and a screen attached to it. */
export async function screenCommand(command: Command, args: readonly string[]): Promise<void> {
  if (!process.stdout.isTTY || !process.stdin.isTTY) {
    const { serveCommand } = await import('./serve-command.js');
    await serveCommand(command, args, WITHOUT_SCREEN);
    return;
  }
  refuseWords(command.args, ourWords(command));
  const { stateDir, startedWith } = await namingVariables(command, () => readServeFlags(command, args));
  const paths = pathsFor(stateDir);
  const background = new BackgroundSupervisor(args, paths);
  let [isOurs] = await Promise.all([startUnlessRunning(background, paths, args, startedWith), loadScreen()]);
  const earlierEnds: string[] = [];
  for (;;) {
    const onEnd = (listener: (end: SupervisorEnd) => void): (() => void) => background.onEnd(listener);
    const client = connectSupervisor({ socketPath: paths.socket }, isOurs ? { owner: true, onEnd } : {});
    const outcome = await showScreen(client, isOurs, { ...readScreenFlags(command), earlierEnds });
    if (outcome.reason !== 'start-again') return endAfter(outcome);
    if (outcome.message !== null) earlierEnds.push(outcome.message);
    isOurs = await startUnlessRunning(background, paths, args, startedWith);
  }
}

/** True when it was started here. One that runs with other flags than those asked for is not what was asked for. */
async function startUnlessRunning(
  background: BackgroundSupervisor,
  paths: Paths,
  args: readonly string[],
  wanted: string,
): Promise<boolean> {
  const running = await runningSupervisor(paths);
  if (running === null) {
    try {
      await background.start();
      return true;
    } catch (error) {
      if (!(error instanceof AlreadyRunning)) throw error;
      // Somebody else was faster, and is about to serve.
      await supervisorSoon(paths, error);
      return false;
    }
  }
  const { startedWith, url } = running.supervisor;
  if (!asksForNothing(args) && wanted !== startedWith) {
    throw new UsageError(
      `A supervisor already runs for ${paths.stateDirectory} (${url}), with other flags; look at it with llm-tui attach, ` +
        'end it with llm-tui stop, or choose another --state-dir for these.',
    );
  }
  return false;
}

const SOON_MILLIS = 20_000;

async function supervisorSoon(paths: Paths, otherwise: Error): Promise<void> {
  const end = performance.now() + SOON_MILLIS;
  while ((await runningSupervisor(paths)) === null) {
    if (performance.now() > end) throw otherwise;
    await delay(100);
  }
}

/** `llm-tui attach [URL]`: a screen for a supervisor that runs already. */
export async function attachCommand(flags: ClientFlags, screen: ScreenFlags): Promise<void> {
  if (!process.stdout.isTTY || !process.stdin.isTTY) {
    throw new CommandFailed('attach needs a terminal; use llm-tui ps where there is none.');
  }
  const client = await clientFor(flags);
  endAfter(await showScreen(client, false, screen));
}

/** Ink and React: they are loaded while a supervisor starts, and commands without a screen start faster without them. */
function loadScreen(): Promise<typeof import('../../components/render.js')> {
  return import('../../components/render.js');
}

/** Where processors are short, drawing waits, and no token of a stream does. */
const SCREEN_PRIORITY = constants.priority.PRIORITY_LOW;

function giveWayToStreams(): void {
  try {
    setPriority(SCREEN_PRIORITY);
  } catch {
    // Some systems let nobody change it: then it stays as it is.
  }
}

/** Shows whatever the client looks at until the user leaves it; says on the restored terminal what there is to say. */
export async function showScreen(
  client: SupervisorClient,
  ownsSupervisor: boolean,
  flags: ScreenFlags & { readonly hostLabel?: string; readonly earlierEnds?: readonly string[] },
): Promise<ScreenOutcome> {
  giveWayToStreams();
  const { runScreen } = await loadScreen();
  const outcome = await runScreen({ client, ownsSupervisor, program: programOnCommandLine(), ...flags });
  client.close();
  // What the next screen tells of would only be found on the terminal when that is left, as if it had just happened.
  if (outcome.message !== null && outcome.reason !== 'start-again') process.stdout.write(`${outcome.message}\n`);
  return outcome;
}

/** Ends this process as the screen has ended. */
export function endAfter({ reason }: ScreenOutcome): never {
  process.exit(reason === 'disconnected' ? 1 : 0);
}

/** What somebody types to run this again: from a checkout there is no `llm-tui` in PATH. */
function programOnCommandLine(): string {
  return process.env['npm_lifecycle_event'] === 'start' ? 'npm start --' : 'llm-tui';
}
