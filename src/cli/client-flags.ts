import { once } from 'node:events';
import type { Command } from 'commander';
import { shellWord } from '../../components/text/shell.js';
import { connect } from '../client/connect.js';
import type { SupervisorTarget } from '../client/supervisor-client.js';
import type { Snapshot, SupervisorClient } from '../client/types.js';
import { pathsFor } from '../supervisor/paths.js';
import { firstSnapshot } from './first-snapshot.js';
import { outOfReach } from './out-of-reach.js';
import { runningSupervisor } from './running-supervisor.js';
import { CommandFailed, UsageError } from './usage-error.js';

/** How a command finds the supervisor that it talks to. */
export interface ClientFlags {
  readonly url: string | null;
  readonly stateDir: string | null;
  readonly apiKey: string | null;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';
const ANSWER_MILLIS = 5000;

export function addClientFlags(command: Command): Command {
  return command
    .option('--url <url>', `the supervisor to talk to, e.g. ${DEFAULT_URL}`)
    .option('--state-dir <dir>', 'the state directory of the supervisor to talk to')
    .option('--api-key <key>', 'its key, with --url; LLAMA_API_KEY keeps it from being seen in the list of processes');
}

export function readClientFlags(flags: Readonly<Record<string, string | undefined>>): ClientFlags {
  const apiKey = (flags['apiKey'] ?? process.env['LLAMA_API_KEY'])?.trim() ?? null;
  if (apiKey !== null && /[^\t\x20-\x7e\x80-\xff]/u.test(apiKey)) {
    const origin = flags['apiKey'] === undefined ? 'LLAMA_API_KEY' : '--api-key';
    throw new UsageError(`${origin} has a character in it that no request can carry, such as the end of a line.`);
  }
  return { url: flags['url'] ?? null, stateDir: flags['stateDir'] ?? null, apiKey };
}

/** The supervisor at the URL; else the one of the state directory; else the one at the default address. */
export async function targetFor({ url, stateDir, apiKey }: ClientFlags): Promise<SupervisorTarget> {
  const at = (address: string): SupervisorTarget => (apiKey === null ? { url: address } : { url: address, apiKey });
  if (url !== null) {
    const { protocol } = URL.parse(url) ?? { protocol: null };
    if (protocol === 'http:' || protocol === 'https:') return at(url);
    throw new UsageError(`'${url}' is no address of a supervisor; write it like ${DEFAULT_URL}.`);
  }
  const paths = pathsFor(stateDir);
  if ((await runningSupervisor(paths)) !== null) return { socketPath: paths.socket };
  if (stateDir !== null) {
    const nobody = `No supervisor is running for ${stateDir}; start one with llm-tui serve --state-dir ${shellWord(stateDir)}.`;
    throw new CommandFailed((await outOfReach(paths)) ?? nobody, { code: 'no_supervisor' });
  }
  return at(DEFAULT_URL);
}

/** A client of that supervisor, or of the llama-server router that is there instead. */
export async function clientFor(flags: ClientFlags): Promise<SupervisorClient> {
  const target = await targetFor(flags);
  try {
    return await answered(connect(target));
  } catch (cause) {
    const isNamed = flags.url !== null || flags.stateDir !== null;
    if (isNamed && cause instanceof Error) throw new CommandFailed(cause.message, { cause, code: 'no_supervisor' });
    const nobody = 'No supervisor is running; start one with llm-tui, or name one with --url or --state-dir.';
    throw new CommandFailed((await outOfReach(pathsFor(null))) ?? nobody, { cause, code: 'no_supervisor' });
  }
}

/** A supervisor that does not answer at all must not hold a command up for ever. */
export async function answered<T>(answer: Promise<T>): Promise<T> {
  const silence = once(AbortSignal.timeout(ANSWER_MILLIS), 'abort').then(() => {
    throw new CommandFailed('The supervisor has not answered; its process may be stopped or overloaded.');
  });
  return Promise.race([answer, silence]);
}

/** The supervisor's state now. Throws CommandFailed with one sentence when there is none, or it does not answer. */
export function snapshotOf(client: SupervisorClient): Promise<Snapshot> {
  return firstSnapshot(client, ANSWER_MILLIS);
}
