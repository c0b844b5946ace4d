import { once } from 'node:events';
import { applyDelta } from '../client/apply-delta.js';
import type { OperatorAction, Snapshot, SupervisorClient } from '../client/types.js';
import { clientFor, snapshotOf, type ClientFlags } from './client-flags.js';
import { CommandFailed } from './usage-error.js';

const ANSWER_MILLIS = 5000;

/** `llm-tui load MODEL` and its kin: the same verbs as the screen's keys. Loading waits until the model is up. */
export async function actCommand(action: OperatorAction, model: string, flags: ClientFlags): Promise<void> {
  await print(flags, async (client) => {
    const since = (await snapshotOf(client)).at;
    const result = await answered(client.act(action, model));
    if (!result.ok) throw new CommandFailed(result.message);
    return action === 'load' ? await whenLoaded(client, model, since) : null;
  });
}

/** What became of a load. Follows the supervisor until the model is ready, has failed, or is no longer wanted. */
function whenLoaded(client: SupervisorClient, name: string, since: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let snapshot: Snapshot | null = null;
    const stop = client.subscribe((message) => {
      if (message.type === 'snapshot') snapshot = message.snapshot;
      else if (message.type === 'delta' && snapshot !== null) snapshot = applyDelta(snapshot, message.delta);
      const outcome =
        message.type === 'disconnected' ? new CommandFailed(message.reason) : outcomeOf(snapshot, name, since);
      if (outcome === null) return;
      stop();
      if (typeof outcome === 'string') resolve(outcome);
      else reject(outcome);
    });
  });
}

function outcomeOf(snapshot: Snapshot | null, name: string, since: number): string | CommandFailed | null {
  const model = snapshot?.models.find(({ id, aliases }) => id === name || aliases.includes(name));
  if (!snapshot || !model) return null;
  if (model.word === 'ready') return `${model.id} is ready`;
  const waits = snapshot.queue.some((entry) => entry.model === model.id);
  if (model.word === 'loading' || waits) return null;
  const failed = model.lastExit !== null && model.lastExit.at >= since ? model.lastExit.reason : null;
  return new CommandFailed(`${model.id} is ${model.word}: ${failed ?? 'its load was given up'}`);
}

/** A supervisor that does not answer at all must not hold a command up for ever. */
async function answered<T>(promise: Promise<T>): Promise<T> {
  const limit = AbortSignal.timeout(ANSWER_MILLIS);
  const silence = once(limit, 'abort').then(() => {
    throw new CommandFailed('The supervisor has not answered; its process may be stopped or overloaded.');
  });
  return Promise.race([promise, silence]);
}

/** `llm-tui stop`: stops every model and the supervisor, and waits until it has gone. */
export async function stopCommand(flags: ClientFlags): Promise<void> {
  await print(flags, async (client) => {
    const { supervisor } = await snapshotOf(client);
    const result = await answered(client.stopAll());
    if (!result.ok) throw new CommandFailed(result.message);
    await new Promise<void>((resolve) => {
      const stop = client.subscribe((message) => {
        if (message.type !== 'disconnected') return;
        stop();
        resolve();
      });
    });
    return `the supervisor at ${supervisor.url} has been stopped`;
  });
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
  await print(flags, async (client) => {
    const lines = await client.logs(model);
    return lines.length > 0 ? lines.join('\n') : `${model} has not said anything yet`;
  });
}

async function print(flags: ClientFlags, read: (client: SupervisorClient) => Promise<string | null>): Promise<void> {
  const client = await clientFor(flags);
  try {
    const text = await read(client);
    if (text !== null) process.stdout.write(`${text}\n`);
  } catch (cause) {
    throw new CommandFailed(cause instanceof Error ? cause.message : String(cause), { cause });
  } finally {
    client.close();
  }
}
