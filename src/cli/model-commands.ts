import type { OperatorAction } from '../client/types.js';
import { clientFor, type ClientFlags } from './client-flags.js';
import { CommandFailed } from './usage-error.js';

/** `llm-tui load MODEL` and its kin: the same verbs as the screen's keys. */
export async function actCommand(action: OperatorAction, model: string, flags: ClientFlags): Promise<void> {
  const client = await clientFor(flags);
  try {
    const result = await client.act(action, model);
    if (!result.ok) throw new CommandFailed(result.message);
  } finally {
    client.close();
  }
}

/** `llm-tui plan MODEL`: what loading it now would do. */
export async function planCommand(model: string, flags: ClientFlags, json: boolean): Promise<void> {
  await print(flags, async (client) => {
    const plan = await client.plan(model);
    return json ? JSON.stringify(plan, null, 2) : `${plan.outcome}: ${plan.sentence}`;
  });
}

/** `llm-tui logs MODEL`: the last lines of its process. */
export async function logsCommand(model: string, flags: ClientFlags): Promise<void> {
  await print(flags, async (client) => (await client.logs(model)).join('\n'));
}

async function print(
  flags: ClientFlags,
  read: (client: Awaited<ReturnType<typeof clientFor>>) => Promise<string>,
): Promise<void> {
  const client = await clientFor(flags);
  try {
    process.stdout.write(`${await read(client)}\n`);
  } catch (cause) {
    throw new CommandFailed(cause instanceof Error ? cause.message : String(cause), { cause });
  } finally {
    client.close();
  }
}
