import type { Command } from 'commander';
import { connectSupervisor } from '../client/supervisor-client.js';
import type { SupervisorClient } from '../client/types.js';
import { pathsFor } from '../supervisor/paths.js';
import { isRunning, startInBackground } from './background.js';
import { serveCommand } from './serve-command.js';
import { readServeFlags } from './serve-flags.js';
import { clientFor, type ClientFlags } from './client-flags.js';
import { readScreenFlags, type ScreenFlags } from './screen-flags.js';
import { CommandFailed } from './usage-error.js';

/** `llm-tui`: the supervisor in the background, unless one runs already, and a screen attached to it. */
export async function screenCommand(command: Command, args: readonly string[]): Promise<void> {
  if (!process.stdout.isTTY || !process.stdin.isTTY) {
    await serveCommand(command);
    return;
  }
  const paths = pathsFor(readServeFlags(command).stateDir);
  const running = await isRunning(paths);
  if (!running) await startInBackground(args, paths);
  const client = connectSupervisor({ socketPath: paths.socket }, { owner: !running });
  await showScreen(client, !running, readScreenFlags(command));
}

/** `llm-tui attach [URL]`: a screen for a supervisor that runs already. */
export async function attachCommand(flags: ClientFlags, screen: ScreenFlags): Promise<void> {
  if (!process.stdout.isTTY || !process.stdin.isTTY) {
    throw new CommandFailed('attach needs a terminal; use llm-tui ps where there is none.');
  }
  const client = await clientFor(flags);
  await showScreen(client, false, screen);
}

async function showScreen(client: SupervisorClient, ownsSupervisor: boolean, flags: ScreenFlags): Promise<void> {
  // Ink and React load only here: commands without a screen start faster without them.
  const { runScreen } = await import('../../components/render.js');
  const outcome = await runScreen({ client, ownsSupervisor, ...flags });
  client.close();
  if (outcome.message !== null) process.stdout.write(`${outcome.message}\n`);
  process.exit(outcome.reason === 'disconnected' ? 1 : 0);
}
